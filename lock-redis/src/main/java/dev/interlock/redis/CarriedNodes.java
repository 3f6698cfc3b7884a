package dev.interlock.redis;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Deadline;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.CommandObject;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Whatever a {@link UnifiedJedis} of a kind unknown to us connects to. The client picks the
 * connection for a command that names the lock's key, and does no harm; the talk is held over that
 * connection just before. It costs one round trip more than knowing the client's pool, retries as
 * the client is set up to, and offers no connection to listen on.
 */
final class CarriedNodes implements Nodes {

  private final UnifiedJedis jedis;

  CarriedNodes(UnifiedJedis jedis) {
    this.jedis = jedis;
  }

  @Override
  public <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk) {
    AtomicReference<@Nullable T> answer = new AtomicReference<>();
    CommandArguments carrier = new CommandArguments(Command.PTTL).key(keys.lock());
    jedis.executeCommand(
        new CommandObject<>(carrier, BuilderFactory.LONG)
            .withPreProcessHook(
                connection -> answer.set(Wire.talk(connection, deadline, false, talk))));
    T result = answer.get();
    if (result == null) {
      throw new JedisException("the Jedis client runs no hooks on its connections");
    }
    return result;
  }

  @Override
  public <I> List<Object> callAll(
      List<I> items,
      Function<I, LockKeys> keys,
      Deadline deadline,
      Function<List<I>, Talk<List<Object>>> talk) {
    List<Object> answers = new ArrayList<>(items.size());
    for (I item : items) {
      try {
        answers.addAll(call(keys.apply(item), deadline, true, talk.apply(List.of(item))));
      } catch (JedisException e) {
        answers.add(e);
      }
    }
    return answers;
  }

  @Override
  public boolean canListen() {
    return false;
  }

  @Override
  public Connection dedicated() {
    throw new UnsupportedOperationException("no connection can be made from this Jedis client");
  }

  @Override
  public void close() {
    // The client is the user's.
  }
}
