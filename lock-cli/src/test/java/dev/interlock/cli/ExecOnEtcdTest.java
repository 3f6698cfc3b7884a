package dev.interlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** If the store cannot enforce a minimum hold, the command does. */
class ExecOnEtcdTest {

  @AutoClose private final EtcdCluster etcd = Testbed.etcd().start();
  @AutoClose private final Interlock interlock = new Interlock();
  private final String uri = Interlock.withLongTimeout(etcd.uri());

  @Test
  void aSignalDuringTheMinimumHoldEndsIt() throws Exception {
    Run holder = exec("exit 3");
    holder.err().await("is kept for its minimum hold");
    interlock.run("exec", "--wait", "0s", uri, "job", "--", "true").assertFailed(75, "held");
    holder.signal("TERM");
    assertEquals(3, holder.await().exitCode());
    interlock.run("exec", "--wait", "0s", uri, "job", "--", "true").assertDone();
  }

  @Test
  void aSignalThatEndsTheCommandAlsoEndsTheMinimumHold() throws Exception {
    Run holder = exec("trap 'exit 3' TERM; echo in; while :; do sleep 0.1; done");
    holder.out().await("in");
    holder.signal("TERM");
    assertEquals(3, holder.await().exitCode());
    interlock.run("exec", "--wait", "0s", uri, "job", "--", "true").assertDone();
  }

  private Run exec(String script) throws Exception {
    return interlock.start(
        "exec", "--min-hold", "10m", "--verbose", uri, "job", "--", "sh", "-c", script);
  }
}
