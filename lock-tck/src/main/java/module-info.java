/**
 * The rules that every backend keeps, as JUnit tests that any backend can run.
 *
 * <p>A backend's tests need {@code dev.interlock.tck} alone. The other packages are exported for
 * the tools around Interlock, whose modules have no descriptors.
 */
module dev.interlock.tck {
  requires transitive dev.interlock.api;
  requires transitive org.junit.jupiter.api;
  requires transitive org.junit.platform.launcher;
  requires com.google.gson;
  requires java.management;
  requires org.junit.platform.reporting;
  requires org.slf4j;

  exports dev.interlock.tck;
  exports dev.interlock.tck.fault;
  exports dev.interlock.tck.history;
  exports dev.interlock.tck.process;
  exports dev.interlock.tck.report;
  exports dev.interlock.tck.specimen;

  opens dev.interlock.tck to
      org.junit.platform.commons;
  opens dev.interlock.tck.history to
      com.google.gson;
  opens dev.interlock.tck.report to
      com.google.gson;
  opens dev.interlock.tck.rules to
      org.junit.platform.commons;

  provides org.junit.platform.launcher.TestExecutionListener with
      dev.interlock.tck.ReportListener;
}
