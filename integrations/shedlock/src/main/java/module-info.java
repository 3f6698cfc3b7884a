/** ShedLock over Interlock: scheduled tasks that run on one machine at a time. */
module dev.interlock.shedlock {
  requires transitive dev.interlock.api;
  requires transitive net.javacrumbs.shedlock.core;
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires org.slf4j;

  exports dev.interlock.shedlock;
}
