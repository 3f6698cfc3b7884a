package dev.interlock.tck.process;

import java.util.List;

/**
 * A task that another JVM runs for a test. The other JVM finds the class by its name on the same
 * class path. The class needs a constructor without parameters.
 */
@FunctionalInterface
public interface RemoteTask {

  /**
   * Runs the task.
   *
   * @param worker the other JVM's client, and the leases that earlier tasks keep
   * @param arguments the arguments that the test passed
   * @return the answer
   * @throws Exception is reported to the test with its class and message
   */
  String run(Worker worker, List<String> arguments) throws Exception;
}
