/** One distributed-lock API for the JVM. {@link java.util.ServiceLoader} finds the backends. */
module dev.interlock.api {
  requires transitive org.jspecify;
  requires static transitive com.google.errorprone.annotations;
  requires org.slf4j;

  exports dev.interlock;
  exports dev.interlock.spi;
  exports dev.interlock.memory;

  uses dev.interlock.spi.LockProvider;

  provides dev.interlock.spi.LockProvider with
      dev.interlock.memory.MemoryProvider;
}
