package dev.interlock.testbed.kit;

import dev.interlock.tck.Permissions;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Independent Redis servers, of which a lock uses one or all. */
public class RedisStore extends StoreUnderTest {
  private final List<RedisServer> servers;
  private final Keys keys;
  private final boolean isForUser;

  /**
   * The keys of locks.
   *
   * @param ofLock the key of the lock with a name
   * @param isFence whether a key is the source of fencing tokens; the others are of holders
   */
  public record Keys(UnaryOperator<String> ofLock, Predicate<String> isFence) {}

  /**
   * Makes a store of one server.
   *
   * @param userInfo the login of clients who must be refused nothing until {@link #close}, as a URI
   *     has it, with an {@code @}; empty if they do not log in
   * @param path what follows the server's address in the URI
   */
  public RedisStore(RedisServer redis, String userInfo, String path, Keys keys) {
    this(redis, List.of(redis), redis.uri() + path, userInfo, keys);
  }

  /**
   * Makes a store of several servers.
   *
   * @param store has the servers
   * @param uri where clients connect who do not log in
   * @param userInfo the login of clients who must be refused nothing until {@link #close}, as a URI
   *     has it, with an {@code @}; empty if they do not log in
   */
  public RedisStore(
      Deployment store, List<RedisServer> servers, String uri, String userInfo, Keys keys) {
    super(store, uri.replace("://", "://" + userInfo));
    this.servers = servers;
    this.keys = keys;
    this.isForUser = !userInfo.isEmpty();
  }

  @Override
  public boolean delete(String name) throws IOException {
    boolean isDeleted = false;
    for (RedisServer server : servers) {
      isDeleted |= Long.valueOf(1).equals(server.call("DEL", keys.ofLock().apply(name)));
    }
    return isDeleted;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (RedisServer server : servers) {
      server
          .keys()
          .forEach(
              (key, left) -> {
                Kind kind = keys.isFence().test(key) ? Kind.FENCE : Kind.HOLDER;
                entries.add(new Entry(kind, server.name() + " key " + key, left >= 0));
              });
      if (server.call("PUBSUB", "CHANNELS") instanceof List<?> channels) {
        for (Object channel : channels) {
          String description = server.name() + " subscription " + channel;
          entries.add(new Entry(Kind.WAITER, description, false));
        }
      }
    }
    return entries;
  }

  /** Makes a user who may do everything, and can be forbidden everything. */
  protected final Permissions permissionsOfUser() throws IOException {
    return new AclUser();
  }

  private final class AclUser extends UserPermissions {
    AclUser() throws IOException {
      super("locker");
      set("on", ">" + file.password(), "~*", "&*", "+@all");
    }

    @Override
    public void deny() throws IOException {
      set("-@all");
    }

    @Override
    public void allow() throws IOException {
      set("+@all");
      callAll("ACL", "LOG", "RESET");
    }

    @Override
    public boolean changePassword() throws IOException {
      String former = file.password();
      set(">" + file.next());
      file.change();
      set("<" + former);
      callAll("CLIENT", "KILL", "USER", user);
      return true;
    }

    private void set(String... rules) throws IOException {
      List<String> command = new ArrayList<>(List.of("ACL", "SETUSER", user));
      command.addAll(List.of(rules));
      callAll(command.toArray(String[]::new));
    }

    private void callAll(String... command) throws IOException {
      for (RedisServer server : servers) {
        server.call(command);
      }
    }
  }

  /**
   * Ends the servers.
   *
   * @throws IllegalStateException if a server has refused something to a user who must be refused
   *     nothing
   */
  @Override
  public void close() {
    List<String> refusals = new ArrayList<>();
    try {
      for (RedisServer server : servers) {
        if (isForUser && server.state() == State.RUNNING) {
          refusals.addAll(RedisRights.refusals(List.of(server)));
        }
      }
    } catch (IOException e) {
      // A server that was hurt.
    } finally {
      super.close();
    }
    if (!refusals.isEmpty()) {
      throw new IllegalStateException("refused: " + refusals);
    }
  }
}
