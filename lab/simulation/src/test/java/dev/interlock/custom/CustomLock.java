package dev.interlock.custom;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.custom.Fault.Store;
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
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** A backend in which a lock is a hash that expires, and one counter makes the tokens. */
class CustomLock implements LockBackend {

  private static final String TRANSIENT =
      "(LOADING|BUSY|READONLY|OOM|MOVED|ASK|CLUSTERDOWN|MASTERDOWN|MISCONF|TRYAGAIN).*";

  final Fault fault;
  final Store store;
  private final BackendInfo info;
  private final String endpoint;

  CustomLock(LockUri uri, BackendContext context, Fault fault) {
    this(uri, context, fault, info("custom", Set.of(Capability.FENCING), Duration.ofMillis(10)));
  }

  CustomLock(LockUri uri, BackendContext context, Fault fault, BackendInfo info) {
    LockUri.Endpoint server = uri.endpoints(6379).get(0);
    this.endpoint = server.toString();
    this.fault = fault;
    this.info = info;
    int timeout = (int) context.options().requestTimeout().toMillis();
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(100);
    pool.setMaxWait(context.options().requestTimeout());
    RedisClient redis =
        RedisClient.builder()
            .hostAndPort(new HostAndPort(server.host(), server.port()))
            .clientConfig(
                DefaultJedisClientConfig.builder()
                    .connectionTimeoutMillis(timeout / 5)
                    .socketTimeoutMillis(timeout)
                    .user(uri.user().orElse(null))
                    .password(uri.password().orElse(null))
                    .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                    .build())
            .poolConfig(pool)
            .build();
    this.store = new Store(redis, context.time());
  }

  static BackendInfo info(String name, Set<Capability> capabilities, Duration granularity) {
    return BackendInfoBuilder.of(name, "a hash that expires, on one Redis")
        .capabilities(capabilities)
        .granularity(granularity)
        .minTtl(Duration.ofMillis(50))
        .guarantee(
            Guarantee.EXCLUSION_AND_TOKENS,
            dev.interlock.Fault.CLIENT_KILLED,
            dev.interlock.Fault.CLIENT_STOPPED,
            dev.interlock.Fault.CONNECTION_LOST,
            dev.interlock.Fault.PARTITION,
            dev.interlock.Fault.SERVER_STOPPED)
        .guarantee(
            Guarantee.NOT_APPLICABLE,
            dev.interlock.Fault.MINORITY_LOST,
            dev.interlock.Fault.LEADER_CHANGED)
        .build();
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
  public Attempt tryAcquire(Claim claim, Deadline deadline) {
    long token = number(Op.ACQUIRE, claim);
    return token > 0 ? new Attempt.Granted(claim, token) : new Attempt.Busy();
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) {
    return number(Op.RENEW, grant.claim()) == 1
        ? new Renewal.Confirmed()
        : new Renewal.Lost(LossReason.TAKEN, "the key is gone, or belongs to another claim");
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) {
    return number(Op.RELEASE, claim) == 1;
  }

  @Override
  public LockState inspect(String name, Deadline deadline) {
    List<?> reply = (List<?>) ask(Op.INSPECT, name);
    List<String> waiters =
        reply.stream().skip(3).map(String::valueOf).collect(Collectors.toUnmodifiableList());
    Object token = reply.get(1);
    return fault.shown(
        token == null
            ? LockStates.free(name)
            : LockStates.held(
                name,
                String.valueOf(reply.get(0)),
                Long.valueOf(token.toString()),
                Duration.ofMillis(Math.max(0, (Long) reply.get(2))),
                waiters));
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) {
    return ask(Op.FORCE, name).equals(1L);
  }

  @Override
  public void close() {
    fault.close(store);
  }

  @Override
  public void forget(Claim claim) {
    fault.forget(claim, store);
  }

  final long number(Op op, Claim claim) {
    return (Long) ask(op, claim);
  }

  private Object ask(Op op, String name) {
    return ask(op, new Claim(name, "", Duration.ZERO, false, "", 0));
  }

  private Object ask(Op op, Claim claim) {
    return translateFailures(op, () -> fault.ask(op, claim, store, () -> run(op, claim)));
  }

  private Object run(Op op, Claim claim) {
    return fault.send(
        store,
        fault.script(op, op.script()),
        fault.keys(fault.stored(claim.name())),
        List.of(
            fault.id(claim),
            claim.label(),
            Long.toString(fault.millis(op, claim)),
            Long.toString(fault.silenceMillis()),
            Long.toString(store.time().wallMillis()),
            fault.argument(op, claim, store)));
  }

  private Object translateFailures(Op op, Supplier<Object> question) {
    try {
      return question.get();
    } catch (JedisDataException e) {
      String message = String.valueOf(e.getMessage());
      throw fault.explained(
          op,
          message.matches(TRANSIENT)
              ? unavailable(e)
              : new LockConfigurationException(
                  info.name() + " at " + endpoint + ": " + message, e));
    } catch (JedisException e) {
      throw fault.explained(op, unavailable(e));
    }
  }

  private LockException unavailable(JedisException e) {
    return new LockUnavailableException(info.name(), endpoint, String.valueOf(e.getMessage()), e);
  }
}
