package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.EndpointUri;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The rights of a Redis user as a page of documentation gives them: the first line that begins with
 * {@code ACL SETUSER} after the comment {@code <!-- rights: NAME -->}. So what is documented is
 * what is tested.
 */
public final class RedisRights {

  private static final String PASSWORD = "PASSWORD";
  private static final String SECRET = "a secret";

  /** Uses all rights, over a connection that is made as that user. */
  @FunctionalInterface
  public interface Use {
    /** Does it; may fail if a right is missing. */
    void run() throws Exception;
  }

  private final String user;
  private final List<String> rules;

  private RedisRights(String user, List<String> rules) {
    this.user = user;
    this.rules = rules;
  }

  /**
   * Reads the line.
   *
   * @throws IOException if the page cannot be read
   * @throws IllegalArgumentException if it has no such line
   */
  public static RedisRights read(Path page, String name) throws IOException {
    List<String> lines = Files.readAllLines(page);
    int comment = lines.indexOf("<!-- rights: " + name + " -->");
    for (String line : comment < 0 ? List.<String>of() : lines.subList(comment, lines.size())) {
      List<String> words = List.of(line.split(" "));
      if (line.startsWith("ACL SETUSER ")) {
        return new RedisRights(words.get(2), words.subList(3, words.size()));
      }
    }
    throw new IllegalArgumentException(page + " has no rights of " + name);
  }

  /** These rights and more. */
  public RedisRights and(RedisRights more) {
    List<String> both = new ArrayList<>(rules);
    both.addAll(more.rules);
    return new RedisRights(user, both);
  }

  /** Has the servers that are yet to be started know the user. */
  public <B extends RedisBuilder<B, ?>> B grantOn(B builder) {
    List<String> rest = new ArrayList<>(rules);
    rest.removeAll(List.of("reset", "on", ">" + PASSWORD));
    return builder.user(user, SECRET, String.join(" ", rest));
  }

  /** Has running servers know the user, until they are restarted. */
  public void grantOn(List<RedisServer> servers) throws IOException {
    grant(servers, rules);
  }

  /** What stands before the address in a URI to connect as the user, with an {@code @}. */
  public String userInfo() {
    return user + ":" + EndpointUri.encode(SECRET) + "@";
  }

  /** The user, as a parameter of a URI. */
  public String user() {
    return user;
  }

  /** The password, as a parameter of a URI. */
  public String password() {
    return EndpointUri.encode(SECRET);
  }

  /**
   * Makes sure that the rights are enough for something, and that each of them is needed for it: a
   * server has to refuse something when it is missing.
   *
   * @param servers all servers that the user connects to; the user is made there
   * @throws AssertionError if not
   */
  public void requireExact(List<RedisServer> servers, Use use) throws Exception {
    grantOn(servers);
    use.run();
    if (!refusals(servers).isEmpty()) {
      throw new AssertionError("refused: " + refusals(servers));
    }
    List<String> needless = new ArrayList<>();
    for (String right : rules) {
      if (!right.matches("[+~&].*")) {
        continue;
      }
      List<String> rest = new ArrayList<>(rules);
      rest.remove(right);
      grant(servers, rest);
      try {
        use.run();
      } catch (Exception | AssertionError e) {
        // That may be the effect.
      }
      if (refusals(servers).isEmpty()) {
        needless.add(right);
      }
    }
    grantOn(servers);
    if (!needless.isEmpty()) {
      throw new AssertionError("not needed: " + needless);
    }
  }

  private void grant(List<RedisServer> servers, List<String> granted) throws IOException {
    List<String> command = new ArrayList<>(List.of("ACL", "SETUSER", user));
    granted.forEach(rule -> command.add(rule.replace(">" + PASSWORD, ">" + SECRET)));
    for (RedisServer server : servers) {
      server.call(command.toArray(String[]::new));
      server.call("ACL", "LOG", "RESET");
    }
  }

  /**
   * What users were refused on any of the servers since rights were granted, or since its start.
   */
  public static List<String> refusals(List<RedisServer> servers) throws IOException {
    List<String> refusals = new ArrayList<>();
    for (RedisServer server : servers) {
      if (server.call("ACL", "LOG") instanceof List<?> log) {
        for (Object entry : log) {
          // A wrong password is no missing right.
          if (entry instanceof List<?> fields && !fields.contains("auth")) {
            refusals.add(server.name() + " " + entry);
          }
        }
      }
    }
    return refusals;
  }
}
