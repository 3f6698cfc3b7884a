package dev.interlock.storm;

import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonSerializationContext;
import com.google.gson.JsonSerializer;
import com.google.gson.annotations.JsonAdapter;
import com.google.gson.annotations.SerializedName;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a storm over one backend, as {@code results.json} has it. Durations that are points
 * in time are counted from the beginning of the storm.
 *
 * @param name what the backend is called in the report
 * @param backend the backend's own name
 * @param endpoint where the store was, without passwords
 * @param servers how the servers were started, with their version; empty if they were there
 * @param started when
 * @param lasted for how long faults were made
 * @param beyondAt when faults outside the failure model were to begin
 * @param passed whether no rule was broken
 * @param clients names of the clients
 * @param names names of the locks, of the read-write lock and of the semaphore
 * @param operations what the clients did
 * @param writes how many writes under the locks were accepted and lost
 * @param overlapsOutside pairs of leases that were valid at once because of a fault outside the
 *     failure model
 * @param overlapsExposed how many of these the tokens expose
 * @param findings violations of the contract; empty if there are none
 * @param counterExample the shortest counter-example to exclusion or the order of tokens
 * @param slowest the slowest recoveries, the slowest first
 * @param resources threads and connections of the clients that lived to the end
 * @param faults the faults that were injected, in order of time
 * @param plan the schedule, with its seed; not in {@code results.json}
 * @param leases all leases, in order of their grants; not in {@code results.json}
 */
public record StormResult(
    String name,
    String backend,
    String endpoint,
    String servers,
    Instant started,
    @SerializedName("lastedSeconds") Duration lasted,
    @SerializedName("beyondAtSeconds") Duration beyondAt,
    boolean passed,
    List<String> clients,
    List<String> names,
    Operations operations,
    Writes writes,
    long overlapsOutside,
    long overlapsExposed,
    List<Finding> findings,
    @Nullable String counterExample,
    List<Recovery> slowest,
    List<ResourceUse> resources,
    List<InjectedFault> faults,
    @JsonAdapter(Hidden.class) Plan plan,
    @JsonAdapter(Hidden.class) List<HeldLease> leases) {

  /** {@return the servers, or the endpoint of a store that was there} */
  String where() {
    return servers.isEmpty() ? endpoint : servers;
  }

  /** {@return the rules that were broken, each once} */
  String rules() {
    return String.join(", ", findings.stream().map(Finding::rule).distinct().sorted().toList());
  }

  /** {@return how many faults were seen to take effect} */
  long faultsThatTookEffect() {
    return faults.stream().filter(InjectedFault::tookEffect).count();
  }

  /**
   * A violation of the contract.
   *
   * @param rule the rule of the contract that was broken
   * @param what what was seen; may have several lines
   */
  public record Finding(String rule, String what) {}

  /**
   * How often the clients did what, by their histories.
   *
   * @param grants leases that were acquired
   * @param handedOver how many of these by a handoff inside a process
   * @param shared how many did not exclude all others: those of readers, and of some permits
   * @param released leases that were released
   * @param renewals explicit renewals that were confirmed
   * @param abandoned leases left to expire on purpose
   * @param cancelled attempts that were cancelled on purpose
   * @param timedOut attempts that timed out while another client held the lock
   * @param unavailable attempts that failed because the store could not be reached
   * @param lost leases that were lost
   * @param reported how many of these losses were reported in time
   */
  public record Operations(
      long grants,
      long handedOver,
      long shared,
      long released,
      long renewals,
      long abandoned,
      long cancelled,
      long timedOut,
      long unavailable,
      long lost,
      long reported) {}

  /**
   * How many writes under the locks were accepted and lost, with and without the token.
   *
   * @param guarded writes that the store took because their token was the highest
   * @param refused writes that it refused because it had seen a higher token
   * @param guardedLost guarded writes that were lost; must be 0
   * @param unguarded writes that were made without looking at the token
   * @param unguardedLost how many of these a stale holder overwrote: what the token is worth
   */
  public record Writes(
      long guarded, long refused, long guardedLost, long unguarded, long unguardedLost) {}

  /**
   * How long after a fault a lock was acquired again.
   *
   * @param fault the kind of fault
   * @param target what it hit
   * @param overAt when it ended
   * @param name the lock's name
   * @param client which client acquired it
   * @param took from the end of the fault until the grant
   */
  public record Recovery(
      String fault,
      String target,
      Duration overAt,
      String name,
      String client,
      @SerializedName("seconds") Duration took) {}

  /** Threads and sockets of one client, after the first calm moment and after the last. */
  public record ResourceUse(
      String client,
      int threadsBefore,
      int threadsAfter,
      int connectionsBefore,
      int connectionsAfter) {}

  /**
   * The time in which one lease was certainly held, in nanoseconds.
   *
   * @param name the lock's name
   * @param client its holder, such as {@code client-2}
   * @param from when it was granted
   * @param until when it ended
   */
  public record HeldLease(String name, String client, long from, long until) {}

  /** Leaves a component out of {@code results.json}. */
  private static final class Hidden implements JsonSerializer<Object> {
    @Override
    public JsonElement serialize(Object value, Type type, JsonSerializationContext context) {
      return JsonNull.INSTANCE;
    }
  }
}
