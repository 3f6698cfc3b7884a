package dev.interlock.redis;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.StoredClaim;
import dev.interlock.redis.server.StoredValue;
import dev.interlock.redis.server.Subscriber;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Keeps locks as keys that expire, on any kind of {@linkplain Nodes servers}.
 *
 * <p>The server's wall clock measures the TTL, so a lock on Redis does not survive a server clock
 * that is <em>stepped</em> forward. {@link Grant#forTtl} allows for clocks of different speed.
 */
final class RedisBackend implements LockBackend {

  private static final Logger log = LoggerFactory.getLogger(RedisBackend.class);

  static final int TOKENS_PER_MILLISECOND = 16;

  /** A shorter TTL would be mostly used up by drift and rounding. */
  static final Duration MIN_TTL = Duration.ofMillis(20);

  private static final byte[] LISTENING = {'1'};

  private static final List<?> UNCONFIRMED = List.of("unconfirmed".getBytes(UTF_8));

  private final BackendInfo info;
  private final String endpoint;
  private final Nodes nodes;
  private final RedisSettings settings;
  private final Failures failures;
  private final Subscriber subscriber;

  /** The id of this client in the lines of waiters. */
  private final byte[] waiter;

  private final AtomicBoolean isPublishRefusalLogged = new AtomicBoolean();

  RedisBackend(
      RedisTopology topology,
      String endpoint,
      Nodes nodes,
      RedisSettings settings,
      Failures failures) {
    this.info = topology.info();
    this.endpoint = endpoint;
    this.nodes = nodes;
    this.settings = settings;
    this.failures = failures;
    this.subscriber =
        new Subscriber(nodes::dedicated, settings.namespace(), failures, Subscriber.PROBE_MILLIS);
    this.waiter = subscriber.id().getBytes(UTF_8);
  }

  @Override
  public BackendInfo info() {
    return info;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    StoredClaim entry = entry(claim);
    Duration ttl = effectiveTtl(claim);
    Call acquire =
        acquire(entry, number(ttl.toMillis()), retention(ttl), subscriber.isWatching(entry.keys()));
    Object reply;
    do {
      reply =
          settings.waitReplicas() == 0
              ? run(acquire, deadline)
              : acquireOnReplicas(acquire, call(entry, entry.release()), deadline);
    } while (mayHaveRoom(reply) && !deadline.hasPassed());
    if (reply instanceof Long token) {
      return new Attempt.Granted(Grant.forTtl(claim, token, ttl));
    }
    List<?> words = (List<?>) reply;
    if (word(words).equals("foreign")) {
      throw conflict(entry, words);
    }
    expect("busy", words);
    long remaining = Math.max(0, (Long) words.get(1));
    if (!claim.reservation().isZero() && !subscriber.isSubscribed(entry.keys())) {
      remaining = Math.min(remaining, Subscriber.UNSUBSCRIBED_POLL_MILLIS);
    }
    // Rounded up: the lock is held during the last fraction of a millisecond, too.
    return new Attempt.Busy(
        Duration.ofMillis(remaining + 1), entry.holder(Wire.text(words.get(2))));
  }

  /**
   * Whether the reply asks to repeat the request, because many holds have ended: see the script.
   */
  private static boolean mayHaveRoom(Object reply) {
    return reply instanceof List<?> words
        && words.size() == 3
        && words.get(1) instanceof Long remaining
        && remaining == 0
        && words.get(2) instanceof byte[] hold
        && hold.length == 0;
  }

  /**
   * Makes the call that asks for the lock.
   *
   * @param listening whether there is a watch on the lock
   */
  private Call acquire(StoredClaim entry, byte[] ttl, byte[] retention, boolean listening) {
    boolean isExclusive = entry.isExclusive();
    Script script = isExclusive ? Script.ACQUIRE : Script.SHARE_ACQUIRE;
    ScriptCall call =
        new ScriptCall(script, entry.keys().of(script), entry.identity()).with(ttl, retention);
    if (!isExclusive) {
      // A waiter is in the line, even if it is not notified of releases yet.
      call = call.with(entry.reservation());
      return call(entry, entry.isInLine() ? call.with(waiter) : call);
    }
    if (listening) {
      call = call.with(waiter, entry.reservation(), LISTENING);
    } else if (entry.isInLine()) {
      call = call.with(waiter, entry.reservation());
    }
    return call(entry, call);
  }

  private static Call call(StoredClaim entry, ScriptCall call) {
    return new Call(call, entry.keys());
  }

  /** Explains why a claim cannot use its key: another kind of lock, or foreign content. */
  private LockConfigurationException conflict(StoredClaim entry, List<?> reply) {
    LockConfigurationException other = entry.disagreement(Wire.text(reply.get(2)));
    return other == null ? failures.foreign(reply) : other;
  }

  /** Acquires over one connection, because replicas confirm the writes of a connection. */
  private Object acquireOnReplicas(Call acquire, Call undo, Deadline deadline)
      throws InterruptedException {
    LockKeys keys = acquire.keys();
    // The connection may also break during WAIT, and then the talk is repeated.
    AtomicBoolean granted = new AtomicBoolean();
    Object reply;
    try {
      reply =
          nodes.call(
              keys,
              deadline,
              true,
              wire -> {
                Object answer = wire.run(acquire);
                granted.set(answer instanceof Long);
                if (!granted.get()) {
                  return answer;
                }
                try {
                  if (!tooFewReplicas(wire, deadline)) {
                    return answer;
                  }
                } catch (JedisDataException refused) {
                  wire.run(undo);
                  granted.set(false);
                  throw refused;
                }
                wire.run(undo);
                return UNCONFIRMED;
              });
    } catch (JedisException e) {
      throw explain(e, acquire.isInDoubt() || granted.get());
    }
    if (reply == UNCONFIRMED) {
      throw failures.passing(tooFewReplicas(), null);
    }
    return reply;
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    List<Object> replies =
        nodes.callAll(
            grants,
            grant -> entry(grant.claim()).keys(),
            deadline,
            some -> {
              List<Call> calls = some.stream().map(this::renewal).toList();
              return wire -> {
                List<Object> answers = wire.runAll(calls);
                return tooFewReplicas(wire, deadline)
                    ? answers.stream().map(this::unconfirmed).toList()
                    : answers;
              };
            });
    List<Renewal> outcomes = new ArrayList<>(grants.size());
    for (int i = 0; i < replies.size(); i++) {
      outcomes.add(outcome(replies.get(i)));
    }
    return outcomes;
  }

  private Call renewal(Grant grant) {
    StoredClaim entry = entry(grant.claim());
    Duration ttl = grant.effectiveTtl();
    return new Call(
        entry.isExclusive() ? Script.RENEW : Script.SHARE_RENEW,
        entry.keys(),
        entry.owner(),
        number(ttl.toMillis()),
        retention(ttl));
  }

  /** Returns how long the fence is kept: it outlives the lease whose token it stores. */
  private byte[] retention(Duration ttl) {
    return number(ttl.plus(settings.fenceRetention()).toMillis());
  }

  private Renewal outcome(Object reply) {
    if (reply instanceof RuntimeException e) {
      return new Renewal.Failed(failures.explain(e));
    }
    List<?> words = (List<?>) reply;
    return switch (word(words)) {
      case "renewed" -> new Renewal.Confirmed();
      case "gone" ->
          new Renewal.Lost(
              LossReason.TAKEN,
              switch (Wire.text(words.get(1))) {
                case "absent" -> "the key is gone: deleted, evicted, or lost by the server";
                case "ended" ->
                    "the hold has ended on the server, by its TTL or by a forced release";
                case "revoked" -> "the lock was revoked";
                default -> "another claim has the lock";
              });
      case "foreign" -> new Renewal.Lost(LossReason.TAKEN, Failures.describeForeign(words));
      default -> new Renewal.Failed(failures.passing("unknown reply " + word(words), null));
    };
  }

  /** Turns a renewal that too few replicas have into a failure: it may be forgotten. */
  private Object unconfirmed(Object answer) {
    boolean renewed = answer instanceof List<?> words && word(words).equals("renewed");
    return renewed ? failures.passing(tooFewReplicas(), null) : answer;
  }

  private boolean tooFewReplicas(Wire wire, Deadline deadline) {
    if (settings.waitReplicas() == 0) {
      return false;
    }
    // The rest of the time is for the reply, and for undoing the grant.
    long timeout = deadline.remaining().toMillis() * 3 / 4;
    return wire.awaitReplicas(settings.waitReplicas(), Math.max(1, timeout))
        < settings.waitReplicas();
  }

  private String tooFewReplicas() {
    return "fewer than " + settings.waitReplicas() + " replicas (waitReplicas) confirmed in time";
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    StoredClaim entry = entry(claim);
    Call release = call(entry, entry.release());
    return released(release, words(run(release, deadline)));
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    Duration kept = Duration.ofMillis(delay.plusNanos(999_999).toMillis());
    StoredClaim entry = entry(claim);
    Call release = call(entry, entry.releaseAfter(number(kept.toMillis()), retention(kept)));
    Object reply;
    if (settings.waitReplicas() == 0) {
      reply = run(release, deadline);
    } else {
      try {
        reply =
            nodes.call(
                release.keys(),
                deadline,
                true,
                wire -> {
                  Object answer = wire.run(release);
                  return tooFewReplicas(wire, deadline) ? UNCONFIRMED : answer;
                });
      } catch (JedisException e) {
        throw explain(e, release.isInDoubt());
      }
      if (reply == UNCONFIRMED) {
        throw failures.passing(tooFewReplicas(), null);
      }
    }
    return released(release, words(reply));
  }

  private boolean released(Call release, List<?> reply) {
    if (word(reply).equals("released")) {
      return released(reply);
    }
    if (release.isInDoubt()) {
      throw failures.passing(
          "the connection broke, and the lock is gone: this request released it, or it was lost"
              + " before",
          null);
    }
    // A foreign value is no lock of ours any more, and stays.
    return !word(reply).equals("foreign") && released(reply);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return released(askOnce(Script.FORCE_RELEASE, name, deadline));
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    List<?> reply = askOnce(Script.REVOKE, name, deadline);
    if (word(reply).equals("not held")) {
      return false;
    }
    expect("revoked", reply);
    return true;
  }

  /**
   * Runs a script that acts on the current holder. It must not be sent twice, because the second
   * one would hit the next holder. So a ping first makes sure that the connection works.
   */
  private List<?> askOnce(Script script, String name, Deadline deadline)
      throws InterruptedException {
    LockKeys keys = keys(name);
    Call call = new Call(script, keys);
    call(keys, deadline, true, Wire::ping);
    return ask(keys, deadline, false, wire -> words(wire.run(call)));
  }

  private boolean released(List<?> reply) {
    if (word(reply).equals("not held")) {
      return false;
    }
    expect("released", reply);
    if (reply.size() > 1 && isPublishRefusalLogged.compareAndSet(false, true)) {
      log.warn(
          "{} at {} does not grant the user the right to publish releases ({}); waiters poll"
              + " instead",
          info.name(),
          endpoint,
          Wire.text(reply.get(1)));
    }
    return true;
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    LockKeys keys = keys(name);
    Call inspect = new Call(Script.INSPECT, keys);
    List<?> reply = ask(keys, deadline, true, wire -> (List<?>) wire.run(inspect));
    LockState state = state(name, reply);
    if (state == null) {
      expect("held", reply);
    }
    return Objects.requireNonNull(state);
  }

  /** Returns the state that a reply describes, or null if it describes none. */
  private static @Nullable LockState state(String name, List<?> reply) {
    return switch (word(reply)) {
      case "free" -> LockStates.free(name);
      case "held" -> held(name, reply);
      case "shared" -> SharedState.read(name, reply);
      default -> null;
    };
  }

  private static LockState held(String name, List<?> reply) {
    Long token = reply.size() > 4 ? Long.valueOf(Wire.text(reply.get(4))) : null;
    return LockStates.held(
        name,
        LockStates.holder(
            StoredValue.holder(Wire.text(reply.get(1))),
            token,
            Duration.ofMillis(Math.max(0, (Long) reply.get(2))),
            token == null ? null : SharedState.since(token, (Long) reply.get(3))),
        List.of());
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    Nodes.Keys page;
    try {
      page = nodes.scan(LockKeys.pattern(settings.namespace(), prefix), cursor, limit, deadline);
    } catch (JedisException e) {
      throw failures.explain(e);
    }
    List<String> names =
        page.keys().stream()
            .map(key -> LockKeys.name(settings.namespace(), key))
            .filter(name -> name != null && name.startsWith(prefix))
            .map(Objects::requireNonNull)
            .toList();
    return new LockPage(names.isEmpty() ? List.of() : held(names, deadline), page.next());
  }

  /** Inspects locks, and returns the states of those that are held. */
  private List<LockState> held(List<String> names, Deadline deadline) throws InterruptedException {
    List<Object> replies =
        nodes.callAll(
            names,
            this::keys,
            deadline,
            some -> {
              List<Call> calls =
                  some.stream().map(name -> new Call(Script.INSPECT, keys(name))).toList();
              return wire -> wire.runAll(calls);
            });
    List<LockState> states = new ArrayList<>();
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof RuntimeException e) {
        throw failures.explain(e);
      }
      List<?> reply = (List<?>) replies.get(i);
      LockState state = state(names.get(i), reply);
      if (state != null && state.isHeld()) {
        states.add(state);
      } else if (word(reply).equals("foreign")
          && !Arrays.equals(keys(names.get(i)).lock(), (byte[]) reply.get(1))) {
        throw failures.foreign(reply);
      }
    }
    return states;
  }

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    return subscriber.watch(keys(name), wakeUp);
  }

  @Override
  public void close() {
    subscriber.close();
    nodes.close();
  }

  /** Talks about a lock, and throws if its keys hold foreign content. */
  private List<?> ask(
      LockKeys keys, Deadline deadline, boolean repeatable, Nodes.Talk<List<?>> talk)
      throws InterruptedException {
    return ours(call(keys, deadline, repeatable, talk));
  }

  private List<?> ours(List<?> reply) {
    if (word(reply).equals("foreign")) {
      throw failures.foreign(reply);
    }
    return reply;
  }

  private Object run(Call call, Deadline deadline) throws InterruptedException {
    try {
      return nodes.run(call, deadline);
    } catch (JedisException e) {
      throw call.isInDoubt() ? explain(e, true) : failures.explainUnsent(e);
    }
  }

  /** Explains a failure. A request that was repeated and refused may have been executed before. */
  private LockException explain(JedisException e, boolean inDoubt) {
    LockException problem = failures.explain(e);
    return problem instanceof LockConfigurationException && inDoubt
        ? failures.passing(
            "the connection broke, and the repeated request failed: " + problem.getMessage(), e)
        : problem;
  }

  private <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Nodes.Talk<T> talk)
      throws InterruptedException {
    try {
      return nodes.call(keys, deadline, repeatable, talk);
    } catch (JedisException e) {
      throw failures.explain(e);
    }
  }

  private void expect(String expected, List<?> reply) {
    if (!word(reply).equals(expected)) {
      throw failures.passing("unknown reply \"" + word(reply) + "\"", null);
    }
  }

  /** Returns a reply as a list, even if it is a single word. */
  private static List<?> words(Object reply) {
    return reply instanceof List<?> list ? list : List.of(reply);
  }

  private static String word(List<?> reply) {
    return Wire.text(reply.get(0));
  }

  private LockKeys keys(String name) {
    return LockKeys.of(settings.namespace(), name);
  }

  private StoredClaim entry(Claim claim) {
    if (claim.attachment() instanceof StoredClaim entry) {
      return entry;
    }
    StoredClaim entry = StoredClaim.of(claim, settings.namespace());
    claim.attach(entry);
    return entry;
  }

  /** Rounds the TTL up to whole milliseconds, and to the minimum. */
  private static Duration effectiveTtl(Claim claim) {
    Duration ttl = claim.ttl();
    if (ttl.compareTo(MIN_TTL) < 0) {
      return MIN_TTL;
    }
    // A lease keeps this object, so it is the claim's own if possible.
    Duration rounded = Duration.ofMillis(ttl.plusNanos(999_999).toMillis());
    return rounded.equals(ttl) ? ttl : rounded;
  }
}
