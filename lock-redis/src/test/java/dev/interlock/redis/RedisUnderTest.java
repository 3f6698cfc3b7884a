package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.PasswordFile;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A disposable Redis as the kit wants to see it. */
final class RedisUnderTest implements Server, ServerNode, StoreView {

  private final RedisServer redis;
  private final String userInfo;

  private @Nullable PasswordFile password;

  RedisUnderTest(RedisServer redis) {
    this(redis, "");
  }

  /** To be used as a user who must be refused nothing. */
  RedisUnderTest(RedisServer redis, String userInfo) {
    this.redis = redis;
    this.userInfo = userInfo;
  }

  @Override
  public String uri() {
    return redis.uri().replace("://", "://" + userInfo);
  }

  @Override
  public List<ServerNode> nodes() {
    return redis.canBeHurt() ? List.of(this) : List.of();
  }

  @Override
  public Optional<StoreView> view() {
    return Optional.of(this);
  }

  @Override
  public boolean delete(String name) throws IOException {
    String key = LockKeys.of(RedisSettings.defaults().namespace(), name).toString();
    return Long.valueOf(1).equals(redis.call("DEL", key));
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    redis
        .keys()
        .forEach(
            (key, left) -> {
              Kind kind = key.endsWith(":fence") ? Kind.FENCE : Kind.HOLDER;
              entries.add(new Entry(kind, "key " + key, left >= 0));
            });
    for (String channel : strings(redis.call("PUBSUB", "CHANNELS"))) {
      entries.add(new Entry(Kind.WAITER, "subscription " + channel, false));
    }
    return entries;
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    PasswordFile file = PasswordFile.create();
    password = file;
    redis.call("ACL", "SETUSER", "locker", "on", ">" + file.password(), "~*", "&*", "+@all");
    return Optional.of(
        new Permissions() {
          @Override
          public String uri() {
            return redis.uri().replace("://", "://locker@") + "?passwordFile=" + file.path();
          }

          @Override
          public void take() throws IOException {
            redis.call("ACL", "SETUSER", "locker", "-@all");
          }

          @Override
          public void giveBack() throws IOException {
            redis.call("ACL", "SETUSER", "locker", "+@all");
            redis.call("ACL", "LOG", "RESET");
          }

          @Override
          public boolean changePassword() throws IOException {
            String former = file.password();
            redis.call("ACL", "SETUSER", "locker", ">" + file.next());
            file.change();
            redis.call("ACL", "SETUSER", "locker", "<" + former);
            redis.call("CLIENT", "KILL", "USER", "locker");
            return true;
          }
        });
  }

  private static List<String> strings(@Nullable Object reply) {
    List<String> strings = new ArrayList<>();
    if (reply instanceof List<?> elements) {
      for (Object element : elements) {
        strings.add(element instanceof byte[] bytes ? new String(bytes, UTF_8) : "" + element);
      }
    }
    return strings;
  }

  @Override
  public void pause() {
    redis.pause();
  }

  @Override
  public void resume() {
    redis.resume();
  }

  @Override
  public void kill() {
    redis.kill();
  }

  @Override
  public void restart() {
    redis.restart();
  }

  @Override
  public void close() {
    List<String> refusals = List.of();
    try (redis;
        PasswordFile unused = password) {
      if (redis.state() == State.RUNNING && !userInfo.isEmpty()) {
        refusals = RedisRights.refusals(List.of(redis));
      }
    } catch (IOException e) {
      // A server that was hurt.
    }
    if (!refusals.isEmpty()) {
      throw new IllegalStateException("refused: " + refusals);
    }
  }
}
