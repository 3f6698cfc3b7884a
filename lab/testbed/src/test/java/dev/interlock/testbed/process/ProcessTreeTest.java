package dev.interlock.testbed.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.process.ProcessSignals;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessTreeTest {

  /** A process that starts a child, and prints a line when it has. */
  private static Process parent() throws Exception {
    Process parent = new ProcessBuilder("sh", "-c", "sleep 60 & echo started; wait").start();
    parent.inputReader().readLine();
    return parent;
  }

  @Test
  void killingAnEndedProcessDoesNotConcernTheNextOwnerOfItsNumber() throws Exception {
    Process other = parent();
    ProcessHandle handle = other.toHandle();
    List<ProcessHandle> children = handle.children().toList();
    ProcessHandle ended =
        (ProcessHandle)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {ProcessHandle.class},
                (proxy, method, arguments) ->
                    List.of("isAlive", "destroyForcibly").contains(method.getName())
                        ? false
                        : method.invoke(handle, arguments));
    try {
      new ProcessTree(ended).kill();
      assertFalse(ProcessSignals.isStopped(other.pid()));
      assertTrue(children.stream().allMatch(ProcessHandle::isAlive), () -> "" + children);
    } finally {
      new ProcessTree(handle).kill();
    }
  }

  @Test
  void statesAreShownAsPsDoes() throws Exception {
    Process parent = parent();
    ProcessTree tree = new ProcessTree(parent.toHandle());
    try {
      long child = parent.children().findFirst().orElseThrow().pid();
      tree.stop();
      assertEquals(parent.pid() + " T, " + child + " T", tree.states());
    } finally {
      tree.kill();
    }
    assertEquals(parent.pid() + " X", tree.states());
  }
}
