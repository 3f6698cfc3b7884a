package dev.interlock.peers;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.BackendDescription;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Timing;
import dev.interlock.tck.run.NotOfferedException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** Gives the kit one lock of one library, with a server of its own. */
abstract class PeerHarness implements Harness {
  private final String name;
  private final String setUp;
  private final Set<Capability> capabilities;
  private final Duration granularity;
  private final Duration minTtl;
  private final Duration patience;

  /**
   * Describes a lock.
   *
   * @param setUp the version of the library and of its server, and how it is set up
   * @param patience how long a call of the library may take with its default settings, with retries
   */
  PeerHarness(
      String name,
      String setUp,
      Set<Capability> capabilities,
      Duration granularity,
      Duration minTtl,
      Duration patience) {
    this.name = name;
    this.setUp = setUp;
    this.capabilities = capabilities;
    this.granularity = granularity;
    this.minTtl = minTtl;
    this.patience = patience;
  }

  /** {@return the name of the lock} */
  final String name() {
    return name;
  }

  /** {@return a short name for files} */
  final String key() {
    return getClass().getSimpleName().replace("Harness", "");
  }

  /** {@return the version of the library and of its server, and how it is set up} */
  final String setUp() {
    return setUp;
  }

  /**
   * Opens the library's client.
   *
   * @param addresses host and port of each server
   * @param terms the usual terms of its locks
   * @param requestTimeout how long the driver may wait for an answer, where that can be set
   */
  abstract Peer connect(List<String> addresses, Terms terms, Duration requestTimeout)
      throws Exception;

  /**
   * {@return what the kit may expect} Faults that the library promises nothing about are not
   * injected.
   */
  final BackendInfo info() {
    return BackendDescription.of(name, setUp)
        .capabilities(capabilities)
        .granularity(granularity)
        .minTtl(minTtl)
        .under(FailureModel.Survives.EXCLUSION_ONLY, Fault.CLIENT_KILLED, Fault.CONNECTION_LOST)
        .build();
  }

  @Override
  public boolean startsServers() {
    return true;
  }

  @Override
  public Timing timing(BackendInfo info) {
    Timing usual = Timing.of(info, slack());
    Duration bound = usual.bound().plus(patience).minus(usual.requestTimeout());
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
      throw new LockUnavailableException(name, at, e.toString(), e);
    }
  }

  @Override
  public LockClient open(String uri, LockOptions options, TimeSource time) {
    throw new NotOfferedException("a client with another clock");
  }
}
