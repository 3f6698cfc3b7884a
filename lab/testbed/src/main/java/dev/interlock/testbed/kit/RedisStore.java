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

/** One Redis server or several independent ones, of which a lock uses all. */
public class RedisStore extends StoreUnderTest {
  private final List<RedisServer> servers;
  private final Keys keys;
  private final boolean isForUser;

  /**
   * The keys of locks.
   *
   * @param ofLock returns the key of a lock, by the lock's name
   * @param isFence whether a key is the source of fencing tokens; other keys belong to holders
   */
  public record Keys(UnaryOperator<String> ofLock, Predicate<String> isFence) {}

  /**
   * Creates a store of one server.
   *
   * @param userInfo {@code user:password@}, or empty. {@link #close} fails if the server refused
   *     this user anything
   * @param path the part of the URI after the server's address
   */
  public RedisStore(RedisServer redis, String userInfo, String path, Keys keys) {
    this(redis, List.of(redis), redis.uri() + path, userInfo, keys);
  }

  /**
   * Creates a store of several servers.
   *
   * @param store the deployment of the servers
   * @param uri the URI for clients, without a user
   * @param userInfo {@code user:password@}, or empty. {@link #close} fails if a server refused this
   *     user anything
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
              (key, ttlMillis) -> {
                Kind kind = keys.isFence().test(key) ? Kind.FENCE : Kind.HOLDER;
                entries.add(new Entry(kind, server.name() + " key " + key, ttlMillis >= 0));
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

  /** Creates a user with all permissions. */
  protected final Permissions userPermissions() throws IOException {
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
      String previous = file.password();
      set(">" + file.next());
      file.change();
      set("<" + previous);
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
   * @throws IllegalStateException if a server refused the user of the URI anything
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
      // a test has stopped this server
    } finally {
      super.close();
    }
    if (!refusals.isEmpty()) {
      throw new IllegalStateException(
          "the servers refused commands of the URI's user: " + refusals);
    }
  }
}
