package dev.interlock.tck.process;

import java.util.List;

/**
 * Something that another JVM does for a test. The class is found there by its name on the same
 * class path, and needs a constructor without parameters.
 */
@FunctionalInterface
public interface RemoteTask {

  /**
   * Does it.
   *
   * @param worker the other JVM's client and what earlier tasks left there
   * @param arguments what the test passed
   * @return the answer
   * @throws Exception is reported to the test with its class and message
   */
  String run(Worker worker, List<String> arguments) throws Exception;
}
