package dev.interlock.storm.nemesis;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.storm.nemesis.FaultKind.Scope;
import dev.interlock.storm.workers.Client;
import dev.interlock.tck.process.ProcessSignals;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The faults that can hit a store and its clients. A fault under which the failure model does not
 * even promise the order of tokens is left out, because nothing could be checked after it.
 *
 * @param model the failure model of the backend
 * @param store the possible faults of the store; none if other programs use it
 * @param lanes the possible faults of each client
 */
record PossibleFaults(FailureModel model, List<FaultKind> store, List<List<FaultKind>> lanes) {

  /** Lists the possible faults, in the order of {@link FaultKind}. */
  static PossibleFaults of(
      FailureModel model, Optional<Deployment> servers, boolean ownsStore, List<Client> clients) {
    List<FaultKind> storeFaults =
        possible(model, Scope.STORE, kind -> isPossible(kind, model, servers, ownsStore));
    List<List<FaultKind>> lanes = new ArrayList<>();
    for (Client client : clients) {
      List<FaultKind> lane = new ArrayList<>();
      boolean hasProcess = client.isProcess() && ProcessSignals.supported();
      lane.addAll(possible(model, Scope.PROCESS, kind -> hasProcess));
      int addresses = client.network().map(network -> network.proxies().size()).orElse(0);
      lane.addAll(
          possible(
              model,
              Scope.NETWORK,
              kind ->
                  kind == FaultKind.MOVE_ADDRESSES
                      ? canMoveAddresses(model, addresses)
                      : addresses > 0));
      lanes.add(List.copyOf(lane));
    }
    return new PossibleFaults(model, storeFaults, List.copyOf(lanes));
  }

  /** {@return whether all servers are equivalent, so that addresses may lead to another one} */
  private static boolean canMoveAddresses(FailureModel model, int addresses) {
    return addresses > 1 && isByVote(model);
  }

  /** {@return whether a majority of the servers knows every write} */
  private static boolean isByVote(FailureModel model) {
    return model.under(Fault.ASYNC_FAILOVER) == Guarantee.NOT_APPLICABLE;
  }

  private static List<FaultKind> possible(
      FailureModel model, Scope scope, Predicate<FaultKind> can) {
    return Stream.of(FaultKind.values())
        .filter(kind -> kind.scope() == scope)
        .filter(kind -> model.under(kind.fault()) != Guarantee.NOT_APPLICABLE)
        .filter(kind -> model.keepsTokenOrder(kind.fault()))
        .filter(can)
        .toList();
  }

  private static boolean isPossible(
      FaultKind kind, FailureModel model, Optional<Deployment> deployment, boolean ownsStore) {
    if (kind == FaultKind.DELETE) {
      return ownsStore;
    }
    if (!ownsStore || deployment.isEmpty() || !acceptsFaults(deployment.get())) {
      return false;
    }
    Deployment servers = deployment.get();
    boolean byVote = isByVote(model);
    return switch (kind) {
      case DEMOTE_SERVER -> StoreFaults.canBeDemoted(servers);
      case LOSE_MINORITY -> byVote && minority(servers.members().size()) > 0;
      case CUT_OFF_SERVER -> byVote && servers.canCutOff();
      case CUT_OFF_PRIMARY -> !byVote && servers.canCutOff();
      case LOSE_LEADER -> byVote && servers.canChangeLeader();
      case CHANGE_LEADER, FAIL_OVER -> servers.canChangeLeader();
      case END_SESSION -> servers.hasSessions();
      case STEP_CLOCK -> servers.members().stream().anyMatch(DisposableServer::canSetClock);
      default -> true;
    };
  }

  private static boolean acceptsFaults(Deployment servers) {
    return !servers.members().isEmpty()
        && servers.members().stream().allMatch(DisposableServer::acceptsFaults);
  }

  /** {@return the size of the largest minority of the members} */
  static int minority(int members) {
    return (members - 1) / 2;
  }

  int clients() {
    return lanes.size();
  }

  /** {@return the faults of a lane that the failure model covers} */
  List<FaultKind> within(int lane) {
    return all(lane).stream().filter(this::covers).toList();
  }

  /** {@return the faults of a lane after which exclusion is not promised} */
  List<FaultKind> beyond(int lane) {
    return all(lane).stream().filter(kind -> !covers(kind)).toList();
  }

  boolean covers(FaultKind kind) {
    return model.keepsExclusion(kind.fault());
  }

  boolean hasWithin() {
    return everything().anyMatch(this::covers);
  }

  boolean hasBeyond() {
    return everything().anyMatch(kind -> !covers(kind));
  }

  /** {@return only the faults that the failure model covers} */
  PossibleFaults withinModel() {
    return new PossibleFaults(
        model, within(Plan.STORE), IntStream.range(0, clients()).mapToObj(this::within).toList());
  }

  /** {@return the faults without one kind of the store's} */
  PossibleFaults without(FaultKind kind) {
    return new PossibleFaults(model, store.stream().filter(other -> other != kind).toList(), lanes);
  }

  private List<FaultKind> all(int lane) {
    return lane == Plan.STORE ? store : lanes.get(lane);
  }

  private Stream<FaultKind> everything() {
    return Stream.concat(store.stream(), lanes.stream().flatMap(List::stream));
  }
}
