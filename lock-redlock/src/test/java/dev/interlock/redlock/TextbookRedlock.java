package dev.interlock.redlock;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/**
 * Redlock as its description has it: all nodes at once, a majority in time, everything given back
 * otherwise, and a random pause. It promises neither tokens nor that nodes may be restarted;
 * subclasses leave a part of it out.
 *
 * <p>Each client has another node that is nearest to it, as when clients and nodes stand in several
 * data centres. That is what splits votes; with all nodes equally near, the first to ask is first
 * everywhere, and minorities are rare.
 */
class TextbookRedlock implements LockBackend {

  private static final BackendInfo INFO = info(Set.of());

  /** The additional delay of each next node, counted from the nearest. */
  private static final long STEP_MILLIS = 2;

  private static final AtomicInteger CLIENTS = new AtomicInteger();

  private final int nearest = CLIENTS.getAndIncrement();
  private final List<RedisClient> nodes = new ArrayList<>();
  private final ExecutorService callers = Executors.newCachedThreadPool(TextbookRedlock::daemon);
  private final TimeSource time;
  private final String endpoint;

  TextbookRedlock(String uri, BackendContext context) {
    LockUri parsed = LockUri.parse(uri);
    this.endpoint = parsed.toString();
    this.time = context.time();
    int timeout = (int) context.options().requestTimeout().toMillis();
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(100);
    pool.setMaxWait(context.options().requestTimeout());
    for (LockUri.Endpoint server : parsed.endpoints(6379)) {
      nodes.add(
          RedisClient.builder()
              .hostAndPort(new HostAndPort(server.host(), server.port()))
              .clientConfig(
                  DefaultJedisClientConfig.builder()
                      .connectionTimeoutMillis(timeout)
                      .socketTimeoutMillis(timeout)
                      .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                      .build())
              .poolConfig(pool)
              .build());
    }
  }

  static BackendInfo info(Set<Capability> capabilities) {
    return BackendInfoBuilder.of(
            "textbook redlock", "a key per lock on a majority of independent Redis servers")
        .capabilities(capabilities)
        .granularity(Duration.ofMillis(20))
        .minTtl(RedlockBackend.MIN_TTL)
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS,
            Fault.CLIENT_KILLED,
            Fault.CLIENT_STOPPED,
            Fault.CONNECTION_LOST,
            Fault.PARTITION)
        .guarantee(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.LEADER_CHANGED)
        .build();
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "textbook-redlock");
    thread.setDaemon(true);
    return thread;
  }

  // --- steps that a specimen replaces ---

  /** The additional delay of a withdrawal to each next node, counted from the nearest. */
  long releaseStepMillis() {
    return STEP_MILLIS;
  }

  /** Withdraws the votes of an attempt that did not get a majority. */
  void withdraw(Claim claim) {
    var unused = delete(claim);
  }

  /** The token that is made of what the first majority of nodes has counted. */
  long token(List<Long> counts) {
    return 0;
  }

  // --- asking all nodes ---

  /** The last request to each node. The next one is sent when this is answered. */
  private record Asked(List<CompletableFuture<Long>> answers) {}

  private Asked ask(Claim claim, Function<RedisClient, Object> question) {
    return ask(claim, STEP_MILLIS, question);
  }

  private Asked ask(Claim claim, long stepMillis, Function<RedisClient, Object> question) {
    List<CompletableFuture<Long>> answers = new ArrayList<>();
    for (int i = 0; i < nodes.size(); i++) {
      RedisClient node = nodes.get(i);
      CompletableFuture<Long> before =
          claim.attachment() instanceof Asked last
              ? last.answers().get(i)
              : CompletableFuture.completedFuture(0L);
      Executor arrival =
          CompletableFuture.delayedExecutor(
              Math.floorMod(i - nearest, nodes.size()) * stepMillis,
              TimeUnit.MILLISECONDS,
              callers);
      answers.add(before.handleAsync((answer, failure) -> (Long) question.apply(node), arrival));
    }
    Asked asked = new Asked(answers);
    claim.attach(asked);
    return asked;
  }

  private int majority() {
    return nodes.size() / 2 + 1;
  }

  /** Waits until a majority has answered with more than 0, or cannot any more. */
  private List<Long> confirmations(Asked asked, Deadline deadline) throws InterruptedException {
    WakeUp wakeUp = new WakeUp(time);
    for (CompletableFuture<Long> each : asked.answers()) {
      var unused = each.whenComplete((answer, failure) -> wakeUp.signal());
    }
    while (true) {
      List<Long> confirmed = new ArrayList<>();
      int open = 0;
      int failed = 0;
      for (CompletableFuture<Long> each : asked.answers()) {
        if (!each.isDone()) {
          open++;
        } else if (each.isCompletedExceptionally()) {
          failed++;
        } else if (each.join() > 0 && confirmed.size() < majority()) {
          confirmed.add(each.join());
        }
      }
      boolean decided = confirmed.size() == majority() || confirmed.size() + open < majority();
      if (!decided && wakeUp.await(deadline)) {
        continue;
      }
      if (confirmed.size() < majority() && open + failed >= majority()) {
        throw new LockUnavailableException("textbook", endpoint, "no majority answered", null);
      }
      return confirmed;
    }
  }

  private static List<String> keys(Claim claim) {
    String lock = LockKeys.of("interlock", claim.name()).toString();
    return List.of(lock, lock + ":fence");
  }

  private static String millis(Claim claim) {
    return Long.toString(claim.ttl().toMillis());
  }

  private Asked delete(Claim claim) {
    return ask(
        claim,
        releaseStepMillis(),
        node ->
            node.eval(
                "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"
                    + " return redis.call('DEL', KEYS[1])",
                keys(claim),
                List.of(claim.id())));
  }

  // --- the lock ---

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    long sentAt = time.nanoTime();
    Asked asked =
        ask(
            claim,
            node ->
                node.eval(
                    "if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then"
                        + " return 0 end return redis.call('INCR', KEYS[2])",
                    keys(claim),
                    List.of(claim.id(), millis(claim))));
    List<Long> counts = confirmations(asked, deadline);
    if (counts.size() == majority()) {
      return new Attempt.Granted(
          Grant.forTtl(claim, token(counts)).validUntil(validUntil(claim, sentAt)));
    }
    withdraw(claim);
    return new Attempt.Busy(Duration.ofNanos(ThreadLocalRandom.current().nextLong(3_000_000)));
  }

  private static long validUntil(Claim claim, long sentAt) {
    long ttl = claim.ttl().toNanos();
    return sentAt + ttl - ttl / 100 - 2_000_000;
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    Claim claim = grant.claim();
    long sentAt = time.nanoTime();
    Asked asked =
        ask(
            claim,
            node ->
                node.eval(
                    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"
                        + " return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
                    keys(claim),
                    List.of(claim.id(), millis(claim))));
    return confirmations(asked, deadline).size() == majority()
        ? new Renewal.Renewed(validUntil(claim, sentAt))
        : new Renewal.Lost(LossReason.TAKEN, "the key is gone or another's on too many nodes");
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    return confirmations(delete(claim), deadline).size() == majority();
  }

  private long everywhere(Function<RedisClient, Boolean> question) {
    return nodes.stream().filter(question::apply).count();
  }

  @Override
  public LockState inspect(String name, Deadline deadline) {
    String key = LockKeys.of("interlock", name).toString();
    return everywhere(node -> node.exists(key)) >= majority()
        ? LockStates.held(name, null, null, null, List.of())
        : LockStates.free(name);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) {
    String key = LockKeys.of("interlock", name).toString();
    return everywhere(node -> node.del(key) == 1) >= majority();
  }

  @Override
  public void close() {
    callers.shutdown();
    nodes.forEach(RedisClient::close);
  }
}
