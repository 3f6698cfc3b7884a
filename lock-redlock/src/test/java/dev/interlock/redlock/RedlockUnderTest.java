package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.PasswordFile;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Disposable nodes as the kit wants to see them. */
final class RedlockUnderTest implements Server, StoreView {

  private final RedlockNodes redlock;
  private final String query;
  private final String userInfo;

  private @Nullable PasswordFile password;

  RedlockUnderTest(RedlockNodes redlock, String query) {
    this(redlock, query, "");
  }

  /** To be used as a user who must be refused nothing. */
  RedlockUnderTest(RedlockNodes redlock, String query, String userInfo) {
    this.redlock = redlock;
    this.query = query;
    this.userInfo = userInfo;
  }

  @Override
  public String uri() {
    return redlock.uri().replace("://", "://" + userInfo) + query;
  }

  @Override
  public List<ServerNode> nodes() {
    return redlock.members().stream().<ServerNode>map(Node::new).toList();
  }

  @Override
  public Optional<StoreView> view() {
    return Optional.of(this);
  }

  @Override
  public boolean delete(String name) throws IOException {
    long deleted = 0;
    for (RedisServer node : redlock.members()) {
      deleted += (Long) node.call("DEL", LockKeys.of("interlock", name).toString());
    }
    return deleted > 0;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (RedisServer node : redlock.members()) {
      Map<String, Long> keys = node.keys();
      keys.remove("interlock:redlock"); // what the node knows of itself
      keys.forEach(
          (key, left) -> {
            Kind kind = key.endsWith(":fence") ? Kind.FENCE : Kind.HOLDER;
            entries.add(new Entry(kind, node.name() + " key " + key, left >= 0));
          });
      for (String channel : strings(node.call("PUBSUB", "CHANNELS"))) {
        entries.add(new Entry(Kind.WAITER, node.name() + " subscription " + channel, false));
      }
    }
    return entries;
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    PasswordFile file = PasswordFile.create();
    password = file;
    setUser("on", ">" + file.password(), "~*", "&*", "+@all");
    return Optional.of(
        new Permissions() {
          @Override
          public String uri() {
            return redlock.uri().replace("://", "://locker@")
                + (query.isEmpty() ? "?" : query + "&")
                + "passwordFile="
                + file.path();
          }

          @Override
          public void take() throws IOException {
            setUser("-@all");
          }

          @Override
          public void giveBack() throws IOException {
            setUser("+@all");
            for (RedisServer node : redlock.members()) {
              node.call("ACL", "LOG", "RESET");
            }
          }

          @Override
          public boolean changePassword() throws IOException {
            String former = file.password();
            setUser(">" + file.next());
            file.change();
            setUser("<" + former);
            for (RedisServer node : redlock.members()) {
              node.call("CLIENT", "KILL", "USER", "locker");
            }
            return true;
          }
        });
  }

  private void setUser(String... rules) throws IOException {
    List<String> command = new ArrayList<>(List.of("ACL", "SETUSER", "locker"));
    command.addAll(List.of(rules));
    for (RedisServer node : redlock.members()) {
      node.call(command.toArray(String[]::new));
    }
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
  public void close() {
    List<String> refusals = new ArrayList<>();
    try (redlock;
        PasswordFile unused = password) {
      for (RedisServer node : redlock.members()) {
        if (node.state() == State.RUNNING && !userInfo.isEmpty()) {
          refusals.addAll(RedisRights.refusals(List.of(node)));
        }
      }
    } catch (IOException e) {
      // A server that was hurt.
    }
    if (!refusals.isEmpty()) {
      throw new IllegalStateException("refused: " + refusals);
    }
  }

  private record Node(RedisServer redis) implements ServerNode {
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
  }
}
