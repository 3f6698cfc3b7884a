package dev.interlock.custom;

import static java.nio.charset.Charset.defaultCharset;
import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.custom.Fault.Store;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockStates;
import java.text.Normalizer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The faults of a backend over one Redis. Each fault is written once. It is built into the plain
 * backend, and into the one with a queue if it makes a difference there.
 */
final class CustomFaults {

  private static final String DRAW = "redis.call('INCR', KEYS[2])";
  private static final String KEEP = "redis.call('PEXPIRE', KEYS[1], ARGV[3])";
  private static final String NOT_OURS =
      "if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end\n";
  private static final String TAKEN = "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end";
  private static final String FREE = "redis.call('DEL', KEYS[1])";
  private static final long HALF_A_MINUTE = 30_000;

  private CustomFaults() {}

  /**
   * A wrong backend.
   *
   * @param name a short name
   * @param sentence a description
   * @param fault creates its fault for each client
   */
  record Wrong(String name, String sentence, Supplier<Fault> fault) {}

  static Fault named(String name) {
    return name.isEmpty()
        ? new Fault()
        : all().stream()
            .filter(wrong -> path(wrong.name()).equals(name))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException(name))
            .fault()
            .get();
  }

  static String path(String name) {
    return name.replaceAll("[^a-z0-9]+", "-");
  }

  // --- how a fault is written ---

  private static Supplier<Fault> script(UnaryOperator<String> edit, Op... ops) {
    return () ->
        new Fault() {
          @Override
          String script(Op op, String correct) {
            return List.of(ops).contains(op) ? edit.apply(correct) : correct;
          }
        };
  }

  private static Supplier<Fault> replacing(String part, String other, Op... ops) {
    return script(correct -> Fault.replace(correct, part, other), ops);
  }

  private static Supplier<Fault> adding(String line, Op... ops) {
    return script(correct -> Fault.replace(correct, "local time =", line + "\nlocal time ="), ops);
  }

  private interface Asking {
    Object ask(Op op, Claim claim, Store store, Supplier<Object> correct);
  }

  private static Supplier<Fault> asking(Asking how) {
    return () ->
        new Fault() {
          @Override
          Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
            return how.ask(op, claim, store, correct);
          }
        };
  }

  private static Supplier<Fault> stored(UnaryOperator<String> names) {
    return () ->
        new Fault() {
          @Override
          String stored(String name) {
            return names.apply(name);
          }
        };
  }

  private static Supplier<Fault> shown(UnaryOperator<LockState> how) {
    return () ->
        new Fault() {
          @Override
          LockState shown(LockState correct) {
            return correct.isHeld() ? how.apply(correct) : correct;
          }
        };
  }

  private static LockState withRemaining(LockState state, Duration remaining) {
    return LockStates.held(
        state.name(),
        state.holder().flatMap(LockState.Holder::label).orElse(null),
        state.fencingToken().getAsLong(),
        remaining,
        state.waiters());
  }

  private static LockState withWaiters(LockState state, List<String> waiters) {
    return LockStates.held(
        state.name(),
        state.holder().flatMap(LockState.Holder::label).orElse(null),
        state.fencingToken().getAsLong(),
        state.remaining().orElse(null),
        waiters);
  }

  private static boolean grants(Op op) {
    return op == Op.ACQUIRE || op == Op.TAKE;
  }

  private static final Op[] GRANTING = {Op.ACQUIRE, Op.TAKE};

  private static String lockKey(Claim claim) {
    return new Fault().keys(claim.name()).get(0);
  }

  static List<Wrong> all() {
    List<Wrong> all = new ArrayList<>();
    all.addAll(tokens());
    all.addAll(expiry());
    all.addAll(releases());
    all.addAll(errors());
    all.addAll(views());
    all.addAll(names());
    all.addAll(residue());
    all.addAll(queues());
    return all;
  }

  // --- tokens ---

  private static List<Wrong> tokens() {
    return List.of(
        new Wrong(
            "token drawn before the grant",
            "A separate request increases the counter, before the one that grants.",
            () ->
                new Fault() {
                  @Override
                  String argument(Op op, Claim claim, Store store) {
                    return grants(op) ? "" + store.redis().incr("custom:tokens") : "";
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op) ? replace(correct, DRAW, "tonumber(ARGV[6])") : correct;
                  }
                }),
        new Wrong(
            "token drawn after the grant",
            "A separate request increases the counter, after the one that grants.",
            () ->
                new Fault() {
                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    Object answer = correct.get();
                    if (!grants(op) || (Long) answer <= 0) {
                      return answer;
                    }
                    long token = store.redis().incr("custom:tokens");
                    store.redis().hset(lockKey(claim), "token", "" + token);
                    return token;
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op) ? replace(correct, DRAW, "1") : correct;
                  }
                }),
        new Wrong(
            "token read and written apart",
            "The client reads the last token, and its grant writes the next one.",
            () ->
                new Fault() {
                  @Override
                  String argument(Op op, Claim claim, Store store) {
                    String last = grants(op) ? store.redis().get("custom:tokens") : null;
                    return last == null ? "1" : "" + (Long.parseLong(last) + 1);
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op)
                        ? replace(
                            correct, DRAW, "tonumber(ARGV[6])\nredis.call('SET', KEYS[2], ARGV[6])")
                        : correct;
                  }
                }),
        new Wrong(
            "token from the client's clock",
            "The token is the time by the wall clock of the client.",
            replacing(DRAW, "tonumber(ARGV[5])", GRANTING)),
        new Wrong(
            "token from the server's clock in seconds",
            "Grants within one second have the same token.",
            replacing(DRAW, "tonumber(time[1])", GRANTING)),
        new Wrong(
            "tokens fetched in blocks",
            "Each client fetches a hundred tokens at a time.",
            () ->
                new Fault() {
                  private final AtomicLong last = new AtomicLong();

                  @Override
                  synchronized String argument(Op op, Claim claim, Store store) {
                    if (grants(op) && last.get() % 100 == 0) {
                      last.set(store.redis().incrBy("custom:tokens", 100));
                    }
                    return "" + last.incrementAndGet();
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op) ? replace(correct, DRAW, "tonumber(ARGV[6])") : correct;
                  }
                }),
        new Wrong(
            "counter that expires with the lock",
            "Each name has a counter, which expires when the lock does.",
            () ->
                new Fault() {
                  @Override
                  List<String> keys(String stored) {
                    return counterPerName(super.keys(stored), stored);
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op)
                        ? replace(correct, KEEP, KEEP + "\nredis.call('PEXPIRE', KEYS[2], ARGV[3])")
                        : correct;
                  }
                }),
        new Wrong(
            "counter deleted by force",
            "A forced release deletes everything that belongs to the name, even its counter.",
            () ->
                new Fault() {
                  @Override
                  List<String> keys(String stored) {
                    return counterPerName(super.keys(stored), stored);
                  }

                  @Override
                  String script(Op op, String correct) {
                    String expiring =
                        replace(
                            correct,
                            DRAW + "\n",
                            DRAW + " redis.call('PEXPIRE', KEYS[2], 600000)\n");
                    return op == Op.FORCE
                        ? replace(expiring, "return", "redis.call('DEL', KEYS[2]) return")
                        : expiring;
                  }
                }),
        new Wrong(
            "token changed by a renewal",
            "A renewal draws a new token, which the lease never learns of.",
            replacing(
                "return redis.call('PEXPIRE'",
                "redis.call('HSET', KEYS[1], 'token', " + DRAW + ")\nreturn redis.call('PEXPIRE'",
                Op.RENEW)),
        new Wrong(
            "token changed by an attempt in vain",
            "An attempt on a held lock draws a token, too, and writes it to the lock.",
            replacing(
                TAKEN,
                """
                if redis.call('EXISTS', KEYS[1]) == 1 then
                  redis.call('HSET', KEYS[1], 'token', redis.call('INCR', KEYS[2]))
                  return 0
                end""",
                Op.ACQUIRE)),
        new Wrong(
            "another token kept than returned",
            "The grant returns the token before the one that it keeps.",
            replacing("return token\n", "return token - 1\n", GRANTING)),
        new Wrong(
            "token shown multiplied",
            "Inspection multiplies the token for programs, and the client multiplies it once more.",
            shown(state -> LockStates.mapTokens(state, token -> token * 64))));
  }

  private static List<String> counterPerName(List<String> keys, String stored) {
    return List.of(keys.get(0), "custom:tokens:" + stored, keys.get(2), keys.get(3));
  }

  // --- expiry and renewal ---

  private static Supplier<Fault> millis(Function<Op, Function<Claim, Long>> millis) {
    return () ->
        new Fault() {
          @Override
          long millis(Op op, Claim claim) {
            return millis.apply(op).apply(claim);
          }
        };
  }

  private static List<Wrong> expiry() {
    return List.of(
        new Wrong(
            "expiry in whole seconds",
            "The store keeps a lock for the TTL in whole seconds, without the rest.",
            millis(op -> claim -> claim.ttl().toSeconds() * 1000)),
        new Wrong(
            "expiry in milliseconds taken for seconds",
            "The store keeps a lock a thousand times too long.",
            replacing(KEEP, "redis.call('EXPIRE', KEYS[1], ARGV[3])", GRANTING)),
        new Wrong(
            "grant kept for half",
            "The store keeps a grant for half of its TTL, until it is renewed.",
            millis(op -> claim -> claim.ttl().toMillis() / (grants(op) ? 2 : 1))),
        new Wrong(
            "renewal by half",
            "A renewal extends the lock by half of the TTL, and is confirmed for the whole TTL.",
            millis(op -> claim -> claim.ttl().toMillis() / (op == Op.RENEW ? 2 : 1))),
        new Wrong(
            "second renewal by half",
            "Only the first renewal extends the lock by the whole TTL.",
            () ->
                new Fault() {
                  private final Set<String> renewed = ConcurrentHashMap.newKeySet();

                  @Override
                  long millis(Op op, Claim claim) {
                    boolean again = op == Op.RENEW && !renewed.add(claim.id());
                    return claim.ttl().toMillis() / (again ? 2 : 1);
                  }

                  @Override
                  void forget(Claim claim, Store store) {
                    renewed.remove(claim.id());
                  }
                }),
        new Wrong(
            "renewal that only looks",
            "A renewal checks that the lock is ours, and extends nothing.",
            replacing("return " + KEEP, "return 1", Op.RENEW)),
        new Wrong(
            "renewal for half a minute",
            "A renewal extends the lock by the default TTL, not by the one that was asked for.",
            millis(op -> claim -> op == Op.RENEW ? HALF_A_MINUTE : claim.ttl().toMillis())),
        new Wrong(
            "renewal that adds",
            "A renewal adds the TTL to the time that is left.",
            replacing("ARGV[3])\n", "redis.call('PTTL', KEYS[1]) + ARGV[3])\n", Op.RENEW)),
        new Wrong(
            "renewal once a second",
            "A renewal within a second of the last one is confirmed without a request.",
            () ->
                new Fault() {
                  private final Map<String, Long> asked = new ConcurrentHashMap<>();

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    long now = store.time().nanoTime();
                    Long last = asked.get(claim.id());
                    if (op == Op.RENEW && last != null && now - last < 1_000_000_000) {
                      return 1L;
                    }
                    if (op == Op.RENEW) {
                      asked.put(claim.id(), now);
                    }
                    return correct.get();
                  }

                  @Override
                  void forget(Claim claim, Store store) {
                    asked.remove(claim.id());
                  }
                }),
        new Wrong(
            "expiry set by a second request",
            "The grant is one request, its expiry another.",
            () ->
                new Fault() {
                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    Object answer = correct.get();
                    if (grants(op) && (Long) answer > 0) {
                      store.redis().pexpire(lockKey(claim), claim.ttl().toMillis());
                    }
                    return answer;
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op) ? replace(correct, KEEP, "") : correct;
                  }
                }),
        new Wrong(
            "expiry by the client's clock",
            "A lock ends when its time is over by the wall clock of a client that wants it.",
            script(
                correct ->
                    Fault.replace(
                        Fault.replace(
                            correct,
                            TAKEN,
                            "if tonumber(redis.call('HGET', KEYS[1], 'until') or 0) >"
                                + " tonumber(ARGV[5]) then return 0 end"),
                        KEEP + "\n",
                        KEEP
                            + "\nredis.call('HSET', KEYS[1], 'until', ARGV[5] + ARGV[3])\n"
                            + "redis.call('PEXPIRE', KEYS[1], ARGV[3] * 2)\n"),
                GRANTING)),
        new Wrong(
            "expiry by the system clock",
            "A lock ends when its time is over by the system clock of a process that wants it.",
            () ->
                new Fault() {
                  @Override
                  String argument(Op op, Claim claim, Store store) {
                    return "" + System.currentTimeMillis();
                  }

                  @Override
                  String script(Op op, String correct) {
                    String until = "redis.call('HSET', KEYS[1], 'until', ARGV[6] + ARGV[3])\n";
                    return op == Op.RENEW
                        ? replace(correct, "return " + KEEP, until + "return " + KEEP)
                        : correct
                            .replace(
                                TAKEN,
                                "if tonumber(redis.call('HGET', KEYS[1], 'until') or 0) >"
                                    + " tonumber(ARGV[6]) then return 0 end")
                            .replace(KEEP, until + KEEP);
                  }
                }),
        new Wrong(
            "renewal that brings back",
            "A renewal creates the lock again if nobody holds it.",
            replacing(
                NOT_OURS,
                "if redis.call('EXISTS', KEYS[1]) == 0 then\n"
                    + "redis.call('HSET', KEYS[1], 'claim', ARGV[1], 'holder', ARGV[2], 'token', 1)"
                    + "\nend\n"
                    + NOT_OURS,
                Op.RENEW)),
        new Wrong(
            "renewal of anybody's lock",
            "A renewal extends the lock, whoever holds it.",
            replacing(NOT_OURS, "", Op.RENEW)),
        new Wrong(
            "renewal of the same holder's lock",
            "A renewal compares the holder's label in place of the claim.",
            replacing("'claim') ~= ARGV[1]", "'holder') ~= ARGV[2]", Op.RENEW)),
        new Wrong(
            "renewal in two steps",
            "A renewal reads the holder, and extends the lock with another request.",
            asking(
                (op, claim, store, correct) ->
                    op == Op.RENEW && claim.id().equals(store.redis().hget(lockKey(claim), "claim"))
                        ? (Object) store.redis().pexpire(lockKey(claim), claim.ttl().toMillis())
                        : correct.get())),
        new Wrong(
            "one loss loses all",
            "After one refused renewal, all leases of the client are reported as lost.",
            () ->
                new Fault() {
                  private volatile boolean lost;

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    Object answer = correct.get();
                    lost |= op == Op.RENEW && answer.equals(0L);
                    return op == Op.RENEW && lost ? (Object) 0L : answer;
                  }
                }),
        new Wrong(
            "reentrant by label",
            "A client with the holder's label is granted the lock, too.",
            replacing(
                TAKEN,
                "if redis.call('EXISTS', KEYS[1]) == 1\n"
                    + "and redis.call('HGET', KEYS[1], 'holder') ~= ARGV[2] then return 0 end",
                GRANTING)),
        new Wrong(
            "renewal without an answer is a loss",
            "A renewal that gets no answer is reported as a loss.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (op == Op.RENEW) {
                      return 0L;
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "renewal that is refused is a loss",
            "A renewal that the server answers with an error is reported as a loss.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisDataException e) {
                    if (op == Op.RENEW) {
                      return 0L;
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "renewal confirmed without an answer",
            "A renewal that gets no answer counts as confirmed.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (op == Op.RENEW) {
                      return 1L;
                    }
                    throw e;
                  }
                })));
  }

  // --- releases and identities ---

  private static List<Wrong> releases() {
    return List.of(
        new Wrong(
            "release without comparing",
            "A release deletes the lock, whoever holds it.",
            replacing(NOT_OURS, "", Op.RELEASE)),
        new Wrong(
            "release of the same holder's lock",
            "A release compares the holder's label in place of the claim.",
            replacing("'claim') ~= ARGV[1]", "'holder') ~= ARGV[2]", Op.RELEASE)),
        new Wrong(
            "release in two steps",
            "A release reads the holder, and deletes the lock with another request.",
            asking(
                (op, claim, store, correct) ->
                    op != Op.RELEASE
                        ? correct.get()
                        : claim.id().equals(store.redis().hget(lockKey(claim), "claim"))
                            ? (Object) store.redis().del(lockKey(claim))
                            : correct.get())),
        new Wrong(
            "release that shortens",
            "A release lets the lock expire a second later.",
            replacing(FREE, "redis.call('PEXPIRE', KEYS[1], 1000)", Op.RELEASE)),
        new Wrong(
            "release always confirmed",
            "A release is confirmed, even if the lock was gone.",
            asking(
                (op, claim, store, correct) -> {
                  Object answer = correct.get();
                  return op == Op.RELEASE ? (Object) 1L : answer;
                })),
        new Wrong(
            "release never confirmed",
            "A release always reports that the lock was gone.",
            asking(
                (op, claim, store, correct) -> {
                  Object answer = correct.get();
                  return op == Op.RELEASE ? (Object) 0L : answer;
                })),
        new Wrong(
            "release confirmed without an answer",
            "A release that gets no answer counts as done.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (op == Op.RELEASE) {
                      return 1L;
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "release repeated and believed",
            "A release without an answer is sent again, and the second answer counts.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (op == Op.RELEASE) {
                      return correct.get();
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "only known grants released",
            "The client releases only grants whose answer it has seen.",
            () ->
                new Fault() {
                  private final Set<String> granted = ConcurrentHashMap.newKeySet();

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    if (op == Op.RELEASE && !granted.contains(claim.id())) {
                      return 0L;
                    }
                    Object answer = correct.get();
                    if (grants(op) && (Long) answer > 0) {
                      granted.add(claim.id());
                    }
                    return answer;
                  }

                  @Override
                  void forget(Claim claim, Store store) {
                    granted.remove(claim.id());
                  }
                }),
        new Wrong(
            "attempt repeated and found busy",
            "An attempt without an answer is sent again, and finds its own grant in the way.",
            () ->
                new Fault() {
                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    try {
                      return correct.get();
                    } catch (JedisConnectionException e) {
                      if (grants(op)) {
                        return correct.get();
                      }
                      throw e;
                    }
                  }

                  @Override
                  String script(Op op, String correct) {
                    return grants(op)
                        ? replace(
                            correct,
                            "if redis.call('HGET', KEYS[1], 'claim') == ARGV[1] then",
                            "if false then")
                        : correct;
                  }
                }),
        new Wrong(
            "one identity per client",
            "All attempts of a client have the same identity on the store.",
            () ->
                new Fault() {
                  private final String id = "client-" + System.identityHashCode(this);

                  @Override
                  String id(Claim claim) {
                    return id;
                  }
                }),
        new Wrong(
            "one identity per thread",
            "The identity on the store is that of the thread that asks.",
            () ->
                new Fault() {
                  @Override
                  String id(Claim claim) {
                    return "thread-" + Thread.currentThread().getId();
                  }
                }));
  }

  // --- failures ---

  private static Supplier<Fault> explained(UnaryOperator<LockException> how) {
    return () ->
        new Fault() {
          @Override
          LockException explained(Op op, LockException correct) {
            return how.apply(correct);
          }
        };
  }

  private static List<Wrong> errors() {
    return List.of(
        new Wrong(
            "time-out declared as not sent",
            "The backend says of every request without an answer that it was not sent.",
            explained(
                correct ->
                    correct instanceof LockUnavailableException e
                        ? LockUnavailableException.notSent(
                            "custom", e.endpoint(), "not sent", e.getCause())
                        : correct)),
        new Wrong(
            "every failure is one of configuration",
            "A store that does not answer at the moment looks like one that can never answer.",
            explained(
                correct -> new LockConfigurationException("" + correct.getMessage(), correct))),
        new Wrong(
            "every error is one of configuration",
            "An error that passes, such as LOADING, looks like one that stays.",
            explained(
                correct ->
                    correct.getCause() instanceof JedisDataException
                        ? new LockConfigurationException("" + correct.getMessage(), correct)
                        : correct)),
        new Wrong(
            "failure taken for a busy lock",
            "A store that does not answer looks like a lock that is held.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (grants(op)) {
                      return 0L;
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "error taken for a busy lock",
            "An attempt that the server answers with an error looks like one on a held lock.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisDataException e) {
                    if (grants(op)) {
                      return 0L;
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "failure taken for a free lock",
            "A lock is shown as free while the store does not answer.",
            asking(
                (op, claim, store, correct) -> {
                  try {
                    return correct.get();
                  } catch (JedisConnectionException e) {
                    if (op == Op.INSPECT) {
                      return Collections.nCopies(3, null);
                    }
                    throw e;
                  }
                })),
        new Wrong(
            "scripts loaded once",
            "Scripts are sent only by their digests, which a restarted server does not know.",
            () ->
                new Fault() {
                  private final Map<String, String> digests = new ConcurrentHashMap<>();

                  @Override
                  Object send(
                      Store store, String script, List<String> keys, List<String> arguments) {
                    String digest = digests.computeIfAbsent(script, store.redis()::scriptLoad);
                    return store.redis().evalsha(digest, keys, arguments);
                  }
                }),
        new Wrong(
            "script for waiters loaded once",
            "The script for waiters is sent only by its digest, the others also by their text.",
            () ->
                new Fault() {
                  private volatile String digest = "";

                  @Override
                  Object send(
                      Store store, String script, List<String> keys, List<String> arguments) {
                    if (!script.equals(Op.TAKE.script())) {
                      return store.redis().eval(script, keys, arguments);
                    }
                    if (digest.isEmpty()) {
                      digest = store.redis().scriptLoad(script);
                    }
                    return store.redis().evalsha(digest, keys, arguments);
                  }
                }),
        new Wrong(
            "scripts sent again once",
            "When the server has forgotten a script, the client sends it again, but only once.",
            () ->
                new Fault() {
                  private final Map<String, String> digests = new ConcurrentHashMap<>();
                  private final Set<String> repeated = ConcurrentHashMap.newKeySet();

                  @Override
                  Object send(
                      Store store, String script, List<String> keys, List<String> arguments) {
                    String digest = digests.computeIfAbsent(script, store.redis()::scriptLoad);
                    try {
                      return store.redis().evalsha(digest, keys, arguments);
                    } catch (JedisNoScriptException e) {
                      if (repeated.add(script)) {
                        return store.redis().eval(script, keys, arguments);
                      }
                      throw e;
                    }
                  }
                }),
        new Wrong(
            "forgetting that asks the store",
            "When the engine forgets a claim, the backend releases it once more, to be sure.",
            () ->
                new Fault() {
                  @Override
                  void forget(Claim claim, Store store) {
                    store.redis().hget(lockKey(claim), "claim");
                  }
                }),
        new Wrong(
            "connections left open",
            "Closing a client leaves its connections open.",
            () ->
                new Fault() {
                  @Override
                  void close(Store store) {}
                }),
        new Wrong(
            "close that frees the holder's locks",
            "Closing a client frees all locks with its label, even those of other clients.",
            () ->
                new Fault() {
                  private volatile String holder = "";

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    if (!claim.label().isEmpty()) {
                      holder = claim.label();
                    }
                    return correct.get();
                  }

                  @Override
                  void close(Store store) {
                    for (String key : store.redis().keys("custom:lock:*")) {
                      if (holder.equals(store.redis().hget(key, "holder"))) {
                        store.redis().del(key);
                      }
                    }
                    super.close(store);
                  }
                }));
  }

  // --- inspection and force ---

  private static List<Wrong> views() {
    return List.of(
        new Wrong(
            "remaining time constant",
            "Inspection always shows the same time left.",
            shown(state -> withRemaining(state, Duration.ofMillis(1_700)))),
        new Wrong(
            "remaining time in seconds",
            "The time left is shown in whole seconds, rounded down.",
            shown(
                state ->
                    withRemaining(
                        state, Duration.ofSeconds(state.remaining().orElseThrow().toSeconds())))),
        new Wrong(
            "remaining time ten times",
            "The time left is shown in the wrong unit.",
            shown(state -> withRemaining(state, state.remaining().orElseThrow().multipliedBy(10)))),
        new Wrong(
            "remaining time by the system clock",
            "The time left is counted from the system clock of the process that asks.",
            () ->
                new Fault() {
                  @Override
                  String argument(Op op, Claim claim, Store store) {
                    return "" + System.currentTimeMillis();
                  }

                  @Override
                  String script(Op op, String correct) {
                    return correct.replace(
                        "'PTTL', KEYS[1])", "'PTTL', KEYS[1]) + now - tonumber(ARGV[6])");
                  }
                }),
        new Wrong(
            "inspection from a cache",
            "A client shows what it saw within the last two seconds.",
            () ->
                new Fault() {
                  private final Map<String, Object> seen = new ConcurrentHashMap<>();
                  private final Map<String, Long> seenAt = new ConcurrentHashMap<>();

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    if (op != Op.INSPECT) {
                      return correct.get();
                    }
                    long now = store.time().nanoTime();
                    Long last = seenAt.get(claim.name());
                    if (last == null || now - last > 2_000_000_000L) {
                      seen.put(claim.name(), correct.get());
                      seenAt.put(claim.name(), now);
                    }
                    return seen.getOrDefault(claim.name(), List.of());
                  }
                }),
        new Wrong(
            "first holder shown forever",
            "The label of a name's first holder is never replaced.",
            script(
                correct ->
                    Fault.replace(
                        Fault.replace(
                            correct,
                            "'holder', ARGV[2], ",
                            "'holder', redis.call('GET', 'custom:tokens:first:' .. KEYS[1]) or"
                                + " ARGV[2], "),
                        KEEP,
                        "redis.call('SET', 'custom:tokens:first:' .. KEYS[1], ARGV[2], 'NX', 'PX',"
                            + " 600000)\n"
                            + KEEP),
                GRANTING)),
        new Wrong(
            "waiters not shown",
            "Inspection shows a queue without waiters.",
            shown(state -> withWaiters(state, List.of()))),
        new Wrong(
            "last waiter first",
            "Inspection shows the queue from its end.",
            shown(
                state -> {
                  List<String> waiters = new ArrayList<>(state.waiters());
                  Collections.reverse(waiters);
                  return withWaiters(state, waiters);
                })),
        new Wrong(
            "inspection that renews",
            "Inspecting a lock extends it.",
            replacing(
                "local seen", "redis.call('PEXPIRE', KEYS[1], 5000)\nlocal seen", Op.INSPECT)),
        new Wrong(
            "force always true",
            "A forced release says that the lock was held.",
            asking(
                (op, claim, store, correct) -> {
                  Object answer = correct.get();
                  return op == Op.FORCE ? (Object) 1L : answer;
                })),
        new Wrong(
            "force always false",
            "A forced release says that the lock was free.",
            asking(
                (op, claim, store, correct) -> {
                  Object answer = correct.get();
                  return op == Op.FORCE ? (Object) 0L : answer;
                })),
        new Wrong(
            "force by prefix",
            "A forced release frees all names that begin with the given name.",
            asking(
                (op, claim, store, correct) -> {
                  if (op == Op.FORCE) {
                    store
                        .redis()
                        .keys(lockKey(claim) + "?*")
                        .forEach(key -> store.redis().del(key));
                  }
                  return correct.get();
                })),
        new Wrong(
            "force that leaves a mark",
            "A forced release marks the lock, which stays taken until its old TTL ends.",
            replacing(
                "return " + FREE,
                "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end\n"
                    + "redis.call('HSET', KEYS[1], 'claim', 'forced')\nreturn 1",
                Op.FORCE)),
        new Wrong(
            "force that empties the queue",
            "A forced release removes the waiters, too.",
            adding("redis.call('DEL', KEYS[3], KEYS[4])", Op.FORCE)));
  }

  // --- names ---

  private static List<Wrong> names() {
    return List.of(
        new Wrong(
            "long labels cut",
            "The store keeps only 64 characters of a label.",
            script(correct -> "ARGV[2] = string.sub(ARGV[2], 1, 64)\n" + correct, Op.values())),
        new Wrong(
            "label and claim in one field",
            "The holder is the label, a colon and the claim, which is read after the first colon.",
            script(
                correct ->
                    correct
                        .replace("'claim', ARGV[1]", "'claim', ARGV[2] .. ':' .. ARGV[1]")
                        .replace(
                            "redis.call('HGET', KEYS[1], 'claim')",
                            "string.match(redis.call('HGET', KEYS[1], 'claim') or ':', ':(.*)')"),
                Op.values())),
        new Wrong(
            "names trimmed", "Blanks at the ends of a name are removed.", stored(String::strip)),
        new Wrong(
            "names in lower case",
            "Names are compared without regard to case.",
            stored(name -> name.toLowerCase(Locale.ROOT))),
        new Wrong(
            "names in ASCII",
            "Characters beyond ASCII become question marks.",
            stored(name -> new String(name.getBytes(US_ASCII), US_ASCII))),
        new Wrong(
            "names in the default charset",
            "Characters that the JVM's default charset lacks become question marks.",
            stored(name -> new String(name.getBytes(defaultCharset()), defaultCharset()))),
        new Wrong(
            "names normalised",
            "Composed and decomposed accents are the same.",
            stored(name -> Normalizer.normalize(name, Normalizer.Form.NFC))),
        new Wrong(
            "names hashed",
            "A name is stored as its hash code.",
            stored(name -> Integer.toHexString(name.hashCode()))),
        new Wrong(
            "long names cut",
            "The store keeps only 64 characters of a long name.",
            stored(name -> name.substring(0, Math.min(name.length(), 64)))),
        new Wrong(
            "long names hashed",
            "The store keeps only the beginning and the hash code of a long name.",
            stored(
                name ->
                    name.length() <= 64
                        ? name
                        : name.substring(0, 40) + Integer.toHexString(name.hashCode()))),
        new Wrong(
            "names as paths",
            "Slashes are removed at the end, and doubled ones anywhere.",
            stored(name -> name.replaceAll("/+", "/").replaceAll("(.)/$", "$1"))),
        new Wrong(
            "names as patterns of a cluster",
            "The store keeps only the part of a name that is in braces.",
            stored(name -> name.replaceAll("(?s).*?\\{(.+?)\\}.*", "$1"))),
        new Wrong(
            "queue under a lock's name",
            "The queue of a lock has the key of the lock whose name ends in :queue.",
            () ->
                new Fault() {
                  @Override
                  List<String> keys(String stored) {
                    List<String> keys = super.keys(stored);
                    return List.of(keys.get(0), keys.get(1), keys.get(0) + ":queue", keys.get(3));
                  }
                }));
  }

  // --- what is left behind ---

  private static List<Wrong> residue() {
    return List.of(
        new Wrong(
            "entry for every attempt",
            "Every attempt writes an entry, which expires an hour later.",
            adding(
                "redis.call('SET', 'custom:attempt:' .. ARGV[1], 1, 'PX', 3600000)", Op.ACQUIRE)),
        new Wrong(
            "entry for every inspection",
            "Every inspection writes an entry, which expires an hour later.",
            adding(
                "redis.call('SET', 'custom:seen:' .. redis.call('INCR', KEYS[2]), 1, 'PX', 3600000)",
                Op.INSPECT)),
        new Wrong(
            "entry for every name",
            "An entry remembers every name that was ever locked.",
            adding("redis.call('SET', 'custom:name:' .. KEYS[1], 1)", GRANTING)),
        new Wrong(
            "entry for every release",
            "A release leaves a mark against late requests, which never expires.",
            adding("redis.call('SET', 'custom:undone:' .. ARGV[1], 1)", Op.RELEASE)),
        new Wrong(
            "attempt that gets in line",
            "An attempt that does not wait gets in line, until its place expires.",
            replacing(
                TAKEN,
                """
                if redis.call('EXISTS', KEYS[1]) == 1 then
                  redis.call('ZADD', KEYS[3], 'NX', redis.call('INCR', KEYS[2]), waiter)
                  stay()
                  return 0
                end""",
                Op.ACQUIRE)),
        new Wrong(
            "every claim remembered",
            "The client keeps something for every claim.",
            () ->
                new Fault() {
                  private final Map<String, Claim> claims = new ConcurrentHashMap<>();

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    claims.put(claim.id(), claim);
                    return correct.get();
                  }
                }),
        new Wrong(
            "every renewed claim remembered",
            "The client keeps something for every claim that was renewed.",
            () ->
                new Fault() {
                  private final Map<String, Claim> claims = new ConcurrentHashMap<>();

                  @Override
                  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
                    if (op == Op.RENEW) {
                      claims.put(claim.id(), claim);
                    }
                    return correct.get();
                  }
                }));
  }

  // --- queues ---

  private static List<Wrong> queues() {
    return List.of(
        new Wrong(
            "last come, first served",
            "The queue is served from its end.",
            replacing(
                "'NX', redis.call('INCR', KEYS[2])",
                "'NX', -redis.call('INCR', KEYS[2])",
                Op.JOIN)),
        new Wrong(
            "line by the clients' clocks",
            "A place in line is the time by the wall clock of the client.",
            replacing("'NX', redis.call('INCR', KEYS[2])", "'NX', ARGV[5]", Op.JOIN)),
        new Wrong(
            "dead waiters never leave",
            "A waiter that is gone keeps its place for an hour.",
            () ->
                new Fault() {
                  @Override
                  long silenceMillis() {
                    return 3_600_000;
                  }
                }),
        new Wrong(
            "dead waiters stay for five TTLs",
            "A waiter that is gone keeps its place for five TTLs.",
            () ->
                new Fault() {
                  @Override
                  long silenceMillis() {
                    return 23_000;
                  }
                }),
        new Wrong(
            "any question keeps the whole line",
            "A waiter that asks keeps the places of all, also of those that are gone.",
            replacing(
                "redis.call('ZADD', KEYS[4], now + ARGV[4], waiter)",
                """
                for _, place in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
                  redis.call('ZADD', KEYS[4], now + ARGV[4], place)
                end""",
                Op.TAKE)),
        new Wrong(
            "place lost by asking",
            "A waiter that asks whether it is served moves to the end.",
            replacing(
                "stay()\nif",
                "stay()\nredis.call('ZADD', KEYS[3], 'XX', redis.call('INCR', KEYS[2]), waiter)\nif",
                Op.TAKE)),
        new Wrong(
            "any waiter served",
            "The waiter that asks first is served.",
            replacing("[1] ~= waiter then return -2 end", "[1] == nil then return 0 end", Op.TAKE)),
        new Wrong(
            "first in line served at once",
            "The first in line is granted the lock while another holds it.",
            replacing(TAKEN + "\nleave", "leave", Op.TAKE)),
        new Wrong(
            "leaver takes the first along",
            "A waiter that leaves removes the first in line.",
            replacing(
                "leave()\nif redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1]",
                """
                if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then
                  redis.call('ZPOPMIN', KEYS[3])
                end
                if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1]""",
                Op.RELEASE)),
        new Wrong(
            "line that never expires",
            "The last waiter that dies leaves its entry forever.",
            replacing(
                "redis.call('PEXPIRE', KEYS[3], ARGV[4])\n  redis.call('PEXPIRE', KEYS[4], ARGV[4])",
                "",
                Op.JOIN,
                Op.TAKE)),
        new Wrong(
            "attempt past the line",
            "An attempt that does not wait is granted a lock that others wait for.",
            replacing("if redis.call('ZCARD', KEYS[3]) > 0 then return 0 end\n", "", Op.ACQUIRE)),
        new Wrong(
            "lost place not noticed",
            "A waiter whose place has expired waits forever.",
            replacing("then return -1 end", "then return 0 end", Op.TAKE)),
        new Wrong(
            "waiter asks too seldom",
            "A waiter asks every three minutes, and the first one every twenty seconds.",
            () ->
                new Fault() {
                  @Override
                  long silenceMillis() {
                    return 300_000;
                  }

                  @Override
                  long pauseMillis() {
                    return 200_000;
                  }
                }),
        new Wrong(
            "place expires between questions",
            "A waiter loses its place before it asks again.",
            () ->
                new Fault() {
                  @Override
                  long silenceMillis() {
                    return 20;
                  }
                }),
        new Wrong(
            "waiter asks without a pause",
            "A waiter asks again and again, without a pause.",
            () ->
                new Fault() {
                  @Override
                  long pauseMillis() {
                    return 1;
                  }
                }));
  }
}
