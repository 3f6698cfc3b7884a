package dev.interlock.storm.report;

import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonSerializationContext;
import com.google.gson.JsonSerializer;
import com.google.gson.annotations.JsonAdapter;
import com.google.gson.annotations.SerializedName;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.nemesis.Plan;
import dev.interlock.storm.verdict.RecordedHistory.ResourceUse;
import dev.interlock.storm.verdict.Verdict.Finding;
import dev.interlock.storm.verdict.Verdict.HeldLease;
import dev.interlock.storm.verdict.Verdict.Operations;
import dev.interlock.storm.verdict.Verdict.Recovery;
import dev.interlock.storm.workers.GuardedStore.Writes;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a storm over one backend, as written to {@code results.json}. Points in time are
 * durations from the beginning of the storm.
 *
 * @param name the backend's name in the report
 * @param backend the backend's own name
 * @param endpoint the endpoint of the store, without passwords
 * @param servers how the servers were started, and their version; empty if they were not
 * @param started when the storm began
 * @param lasted how long faults were injected
 * @param beyondAt when faults outside the failure model were to begin
 * @param passed whether no rule was broken
 * @param clients names of the clients
 * @param names names of the locks, of the read-write lock and of the semaphore
 * @param operations the numbers of the clients' operations
 * @param writes the numbers of writes that were accepted and lost
 * @param overlapsOutside how many leases overlapped because of a fault outside the failure model
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

  /** {@return the servers, or the endpoint if the storm has not started them} */
  String where() {
    return servers.isEmpty() ? endpoint : servers;
  }

  /** {@return the rules that were broken, each once} */
  String rules() {
    return String.join(", ", findings.stream().map(Finding::rule).distinct().sorted().toList());
  }

  /** {@return the number of findings about overlaps within the failure model} */
  long overlapsWithin() {
    return findings.stream().filter(finding -> finding.rule().startsWith("EXCL")).count();
  }

  long faultsThatTookEffect() {
    return faults.stream().filter(InjectedFault::tookEffect).count();
  }

  /** Leaves a component out of {@code results.json}. */
  private static final class Hidden implements JsonSerializer<Object> {
    @Override
    public JsonElement serialize(Object value, Type type, JsonSerializationContext context) {
      return JsonNull.INSTANCE;
    }
  }
}
