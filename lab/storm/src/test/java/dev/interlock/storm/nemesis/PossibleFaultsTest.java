package dev.interlock.storm.nemesis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.storm.workers.Client;
import dev.interlock.storm.workers.ClientWorkers;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisSentinels;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The deployment determines the possible faults, and the failure model those that it covers. */
class PossibleFaultsTest {
  private static final FailureModel EVERYTHING_SURVIVES =
      BackendInfoBuilder.of("test", "")
          .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CLIENT_KILLED, Fault.values())
          .build()
          .failureModel();

  /** A client of which only the properties are used. */
  private record FakeClient(String name, boolean isProcess, Optional<Network> network)
      implements Client {
    @Override
    public void perform(ClientWorkers.Phase phase) {
      throw new AssertionError(phase + " of a fake client");
    }

    @Override
    public List<Path> journals() {
      return List.of();
    }

    @Override
    public void close() {}
  }

  /** Two clients: a process behind a network, and one in this process without. */
  private static final class TwoClients implements AutoCloseable {
    private final Network network;

    TwoClients() throws Exception {
      this("redis://127.0.0.1:1");
    }

    TwoClients(String uri) throws Exception {
      network = Proxies.network(uri, 0).orElseThrow();
    }

    List<Client> all() {
      return List.of(
          new FakeClient("client-1", true, Optional.of(network)),
          new FakeClient("client-2", false, Optional.empty()));
    }

    @Override
    public void close() {
      network.close();
    }
  }

  @Test
  void aStoreThatTheStormDoesNotOwnHasNoFaults() throws Exception {
    try (TwoClients clients = new TwoClients()) {
      PossibleFaults faults =
          PossibleFaults.of(EVERYTHING_SURVIVES, Optional.empty(), false, clients.all());
      assertEquals(List.of(), faults.store());
      assertTrue(faults.within(0).contains(FaultKind.KILL_CLIENT));
      assertTrue(faults.within(0).contains(FaultKind.PARTITION));
      assertEquals(List.of(), faults.within(1));
    }
  }

  @Test
  void aSingleServerHasNeitherMinorityNorLeaderToLose() throws Exception {
    try (TwoClients clients = new TwoClients();
        RedisServer redis = Testbed.redis().forFaults().start()) {
      List<FaultKind> store =
          PossibleFaults.of(EVERYTHING_SURVIVES, Optional.of(redis), true, clients.all()).store();
      assertEquals(
          EnumSet.of(
              FaultKind.STOP_SERVER,
              FaultKind.DEMOTE_SERVER,
              FaultKind.RESTART_SERVER,
              FaultKind.EMPTY_SERVER,
              FaultKind.DELETE),
          EnumSet.copyOf(store));
    }
  }

  @Test
  void oneOfThreeNodesMayBeLost() throws Exception {
    try (TwoClients clients = new TwoClients();
        RedlockNodes redlock = Testbed.redlockNodes().forFaults().nodes(3).start()) {
      FailureModel model =
          BackendInfoBuilder.of("test", "")
              .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.MINORITY_LOST)
              .guarantee(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.LEADER_CHANGED)
              .build()
              .failureModel();
      PossibleFaults faults = PossibleFaults.of(model, Optional.of(redlock), true, clients.all());
      assertEquals(List.of(FaultKind.LOSE_MINORITY), faults.store());
      assertEquals(1, PossibleFaults.minority(3));
      assertEquals(2, PossibleFaults.minority(5));
    }
  }

  @Test
  void aPrimaryWithReplicasIsCutOffBeyondTheModel() throws Exception {
    try (TwoClients clients = new TwoClients();
        RedisSentinels redis = Testbed.redisSentinels().forFaults().separable().start()) {
      FailureModel model =
          BackendInfoBuilder.of("test", "")
              .guarantee(Guarantee.TOKENS_ONLY, Fault.MINORITY_LOST, Fault.ASYNC_FAILOVER)
              .build()
              .failureModel();
      PossibleFaults faults = PossibleFaults.of(model, Optional.of(redis), true, clients.all());
      assertEquals(
          List.of(FaultKind.FAIL_OVER, FaultKind.CUT_OFF_PRIMARY), faults.beyond(Plan.STORE));
      assertEquals(List.of(), faults.within(Plan.STORE));
    }
  }

  @Test
  void addressesAreMovedOnlyBetweenEquivalentServers() throws Exception {
    FailureModel equivalent =
        BackendInfoBuilder.of("test", "")
            .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.CONNECTION_LOST)
            .guarantee(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER)
            .build()
            .failureModel();
    try (TwoClients one = new TwoClients();
        TwoClients three = new TwoClients("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")) {
      assertTrue(canMove(equivalent, three));
      assertFalse(canMove(equivalent, one), "there is no other server");
      assertFalse(canMove(EVERYTHING_SURVIVES, three), "the other server may be a replica");
      Set<String> moves = new TreeSet<>();
      for (int choice = 0; choice < 100; choice++) {
        try (Injection injection =
            ClientFaults.inject(FaultKind.MOVE_ADDRESSES, three.all().get(0), choice)) {
          moves.add(injection.note());
          assertFalse(injection.tookEffect(), "no client has connected");
        }
      }
      assertEquals(
          Set.of(
              "server 1 has 2 addresses",
              "server 1 has 3 addresses",
              "server 2 has 2 addresses",
              "server 2 has 3 addresses",
              "server 3 has 2 addresses",
              "server 3 has 3 addresses"),
          moves);
    }
  }

  private static boolean canMove(FailureModel model, TwoClients clients) {
    return PossibleFaults.of(model, Optional.empty(), false, clients.all())
        .within(0)
        .contains(FaultKind.MOVE_ADDRESSES);
  }

  @Test
  void faultsThatNothingSurvivesAreLeftOutAndThoseThatOnlyTokensSurviveAreBeyond()
      throws Exception {
    FailureModel model =
        BackendInfoBuilder.of("test", "")
            .guarantee(Guarantee.EXCLUSION_AND_TOKENS, Fault.SERVER_STOPPED)
            .guarantee(Guarantee.TOKENS_ONLY, Fault.FORCED_RELEASE)
            .build()
            .failureModel();
    try (TwoClients clients = new TwoClients();
        RedisServer redis = Testbed.redis().forFaults().start()) {
      PossibleFaults faults = PossibleFaults.of(model, Optional.of(redis), true, clients.all());
      assertEquals(
          List.of(FaultKind.STOP_SERVER, FaultKind.DEMOTE_SERVER), faults.within(Plan.STORE));
      assertEquals(List.of(FaultKind.DELETE), faults.beyond(Plan.STORE));
      assertEquals(List.of(), faults.lanes().get(0), "nothing is promised under faults of clients");
      assertFalse(faults.withinModel().hasBeyond());
    }
  }
}
