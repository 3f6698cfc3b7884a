package dev.interlock.peers;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.report.Json;
import dev.interlock.spi.BackendFactory;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Timing;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** A harness of the kit for one lock of one library, with a server of its own. */
abstract class PeerHarness implements Harness {

  /**
   * The description of a lock in {@code peers.json}.
   *
   * @param key a short name for files; the class of the harness is this name with {@code Harness}
   * @param name the name of the lock
   * @param setUp the library, its server and their configuration; a class name in braces is
   *     replaced by the version of its jar
   * @param capabilities the capabilities that the kit may expect
   * @param granularityMillis the precision of the TTL
   * @param minTtlMillis the minimum TTL
   * @param maxCallMillis how long a call of the library may take with default settings, including
   *     retries
   */
  record Description(
      String key,
      String name,
      String setUp,
      Set<Capability> capabilities,
      long granularityMillis,
      long minTtlMillis,
      long maxCallMillis) {
    private static final Pattern VERSION = Pattern.compile("\\{([\\w.]+)}");
    private static final List<Description> ALL = Json.read(Description.class, "peers.json");

    Description {
      capabilities = Set.copyOf(capabilities);
      setUp = VERSION.matcher(setUp).replaceAll(type -> Jars.version(type.group(1)));
    }
  }

  private final Description description =
      Description.ALL.stream()
          .filter(one -> getClass().getSimpleName().equals(one.key + "Harness"))
          .findFirst()
          .orElseThrow();

  /** {@return the name of the lock} */
  final String name() {
    return description.name;
  }

  /** {@return the short name for files} */
  final String key() {
    return description.key;
  }

  /** {@return the versions of the library and its server, and their configuration} */
  final String setUp() {
    return description.setUp;
  }

  /**
   * Opens the library's client.
   *
   * @param addresses the host and port of each server
   * @param terms the default terms of its locks
   * @param requestTimeout the request time-out of the driver, if it has one
   */
  abstract Peer connect(List<String> addresses, Terms terms, Duration requestTimeout)
      throws Exception;

  /**
   * {@return the properties that the kit may expect} The kit does not inject faults for which they
   * promise nothing.
   */
  final BackendInfo info() {
    return BackendInfoBuilder.of(name(), setUp())
        .capabilities(description.capabilities)
        .granularity(Duration.ofMillis(description.granularityMillis))
        .minTtl(Duration.ofMillis(description.minTtlMillis))
        .guarantee(
            FailureModel.Guarantee.EXCLUSION_ONLY, Fault.CLIENT_KILLED, Fault.CONNECTION_LOST)
        .build();
  }

  @Override
  public boolean startsServers() {
    return true;
  }

  @Override
  public Timing timing(BackendInfo info) {
    Timing usual = Timing.of(info, slack());
    Duration bound =
        usual.bound().plusMillis(description.maxCallMillis).minus(usual.requestTimeout());
    return new Timing(
        usual.ttl(),
        usual.renewedTtl(),
        Collections.max(List.of(usual.longTtl(), bound.multipliedBy(4))),
        usual.requestTimeout(),
        bound);
  }

  @Override
  public LockClient open(String uri, LockOptions options) {
    String at = uri.substring(uri.indexOf("://") + 3).replaceFirst("[/?].*", "");
    List<String> addresses = Arrays.asList(at.split(",", -1));
    try {
      return new AdaptedClient(
          connect(addresses, Terms.of(options), options.requestTimeout()), info(), at, options);
    } catch (NotOfferedException e) {
      throw e;
    } catch (Exception e) {
      throw new LockUnavailableException(name(), at, e.toString(), e);
    }
  }

  @Override
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    throw new NotOfferedException("a client with a replaceable clock");
  }

  @Override
  public BackendFactory backend(String uri) {
    throw new NotOfferedException("a backend without an engine");
  }
}
