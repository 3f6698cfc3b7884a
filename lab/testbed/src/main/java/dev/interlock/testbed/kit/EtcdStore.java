package dev.interlock.testbed.kit;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.tck.Permissions;
import dev.interlock.testbed.etcd.EtcdCluster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An etcd cluster that keeps the queue of each lock as keys below a prefix. */
public class EtcdStore extends StoreUnderTest {
  private static final Pattern KEY = Pattern.compile("\"key\":\"([^\"]+)\"");

  private final EtcdCluster etcd;
  private final UnaryOperator<String> prefix;

  /** Changes a user's permission for the keys of locks. */
  @FunctionalInterface
  protected interface Grant {
    /**
     * Replaces the permission.
     *
     * @param type {@code READ} or {@code READWRITE}
     */
    void replaceBy(String type) throws IOException;
  }

  /**
   * Creates a store.
   *
   * @param uri the URI for clients
   * @param prefix returns the prefix of a lock's keys, by the lock's name; ends with a slash
   */
  public EtcdStore(EtcdCluster etcd, String uri, UnaryOperator<String> prefix) {
    super(etcd, uri);
    this.etcd = etcd;
    this.prefix = prefix;
  }

  /** Deletes the keys of all holders and waiters. */
  @Override
  public boolean delete(String name) throws IOException {
    return call("/v3/kv/deleterange", range(name) + "}").contains("\"deleted\"");
  }

  /** Deletes the oldest key of a lock: that of the holder, if there can be only one. */
  protected final boolean deleteOldest(String name) throws IOException {
    String oldest = ",\"limit\":1,\"sort_order\":\"ASCEND\",\"sort_target\":\"CREATE\"}";
    Matcher key = KEY.matcher(call("/v3/kv/range", range(name) + oldest));
    return key.find()
        && call("/v3/kv/deleterange", "{\"key\":\"" + key.group(1) + "\"}").contains("\"deleted\"");
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    etcd.leader()
        .keys()
        .forEach((key, expires) -> entries.add(new Entry(Kind.HOLDER, "key " + key, expires)));
    return entries;
  }

  private String call(String path, String json) throws IOException {
    return etcd.leader().call(path, json);
  }

  /** {@return the beginning of a request for the keys of a lock} */
  private String range(String name) {
    String from = prefix.apply(name);
    String to = from.substring(0, from.length() - 1) + '0';
    return "{\"key\":\"" + base64(from) + "\",\"range_end\":\"" + base64(to) + "\"";
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
  }

  /** Manages the permissions of an existing user, whose password is from now on in a file. */
  protected final Permissions userPermissions(String user, Grant grant) throws IOException {
    return new User(user, grant);
  }

  private final class User extends UserPermissions {
    private final Grant grant;

    User(String name, Grant grant) throws IOException {
      super(name);
      this.grant = grant;
      setPassword();
    }

    @Override
    public void deny() throws IOException {
      grant.replaceBy("READ");
    }

    @Override
    public void allow() throws IOException {
      grant.replaceBy("READWRITE");
    }

    /** Changes the password, and invalidates the user's tokens. */
    @Override
    public boolean changePassword() throws IOException {
      file.change(); // first, since etcd knows only one password of a user
      setPassword();
      return true;
    }

    private void setPassword() throws IOException {
      String login = "{\"name\":\"" + user + "\",\"password\":\"" + file.password() + "\"}";
      String unused = call("/v3/auth/user/changepw", login);
    }
  }
}
