/**
 * The rules that every backend keeps, as JUnit tests that any backend can run.
 *
 * <p>A backend's tests need {@code dev.interlock.tck} alone. The tools around Interlock, which are
 * automatic modules, may use some of the other packages.
 */
@SuppressWarnings("module") // The modules that this exports to are compiled after it.
module dev.interlock.tck {
  requires transitive dev.interlock.api;
  requires transitive org.junit.jupiter.api;
  requires org.junit.platform.launcher;
  requires com.google.gson;
  requires java.instrument;
  requires java.management;
  requires org.junit.platform.reporting;
  requires org.slf4j;

  exports dev.interlock.tck;
  exports dev.interlock.tck.fault to
      dev.interlock.compare,
      dev.interlock.storm;
  exports dev.interlock.tck.history to
      dev.interlock.simulation,
      dev.interlock.storm;
  exports dev.interlock.tck.process to
      dev.interlock.compare,
      dev.interlock.storm,
      dev.interlock.testbed;
  exports dev.interlock.tck.report to
      dev.interlock.compare;
  exports dev.interlock.tck.run to
      dev.interlock.cli,
      dev.interlock.compare,
      dev.interlock.storm;

  opens dev.interlock.tck to
      org.junit.platform.commons;
  opens dev.interlock.tck.history to
      com.google.gson;
  opens dev.interlock.tck.report to
      com.google.gson;
  opens dev.interlock.tck.rules to
      org.junit.platform.commons;
  opens dev.interlock.tck.run to
      org.junit.platform.commons;

  provides org.junit.platform.launcher.TestExecutionListener with
      dev.interlock.tck.run.ReportListener;
}
