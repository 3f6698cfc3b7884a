/** Metrics and observations of lock clients, by Micrometer. */
module dev.interlock.micrometer {
  requires transitive dev.interlock.api;
  requires transitive micrometer.commons;
  requires transitive micrometer.core;
  requires transitive micrometer.observation;
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires org.slf4j;

  exports dev.interlock.micrometer;
}
