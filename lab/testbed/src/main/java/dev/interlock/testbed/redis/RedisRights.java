package dev.interlock.testbed.redis;

import dev.interlock.testbed.server.EndpointUri;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The rights of a Redis user, read from a page of documentation, so that the documented rights are
 * tested. They are in the first line that begins with {@code ACL SETUSER} after the comment {@code
 * <!-- rights: NAME -->}.
 */
public final class RedisRights {

  private static final String PASSWORD = "PASSWORD";
  private static final String SECRET = "a secret";

  /** Work that needs all rights, over connections of that user. */
  @FunctionalInterface
  public interface Use {
    /** Does the work; may fail if a right is missing. */
    void run() throws Exception;
  }

  private final String user;
  private final List<String> rules;

  private RedisRights(String user, List<String> rules) {
    this.user = user;
    this.rules = rules;
  }

  /**
   * Reads the rights from a page.
   *
   * @throws IOException if the page cannot be read
   * @throws IllegalArgumentException if the page has no such rights
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
    throw new IllegalArgumentException(
        page + " has no line ACL SETUSER after the comment \"rights: " + name + "\"");
  }

  /** {@return these rights and others together} */
  public RedisRights and(RedisRights more) {
    List<String> both = new ArrayList<>(rules);
    both.addAll(more.rules);
    return new RedisRights(user, both);
  }

  /** Adds the user to the servers that a builder starts. */
  public <B extends RedisBuilder<B, ?>> B grantOn(B builder) {
    List<String> rights = new ArrayList<>(rules);
    rights.removeAll(List.of("reset", "on", ">" + PASSWORD));
    return builder.user(user, SECRET, String.join(" ", rights));
  }

  /** Adds the user to running servers, until they are restarted. */
  public void grantOn(List<RedisServer> servers) throws IOException {
    grant(servers, rules);
  }

  /** {@return the user's login in a URI, {@code user:password@}} */
  public String userInfo() {
    return user + ":" + EndpointUri.encode(SECRET) + "@";
  }

  /** {@return the user's name} */
  public String user() {
    return user;
  }

  /** {@return the user's password, percent-encoded} */
  public String password() {
    return EndpointUri.encode(SECRET);
  }

  /**
   * Checks that the rights are sufficient for some work, and that each of them is necessary:
   * without it a server refuses a command.
   *
   * @param servers all servers that the user connects to; the user is created there
   * @throws AssertionError if rights are missing or unnecessary
   */
  public void requireExact(List<RedisServer> servers, Use use) throws Exception {
    grantOn(servers);
    use.run();
    if (!refusals(servers).isEmpty()) {
      throw new AssertionError(
          "rights are missing, since servers refused commands: " + refusals(servers));
    }
    List<String> unnecessary = new ArrayList<>();
    for (String right : rules) {
      if (!right.matches("[+~&].*")) {
        continue;
      }
      List<String> others = new ArrayList<>(rules);
      others.remove(right);
      grant(servers, others);
      try {
        use.run();
      } catch (Exception | AssertionError e) {
        // may fail because of the missing right
      }
      if (refusals(servers).isEmpty()) {
        unnecessary.add(right);
      }
    }
    grantOn(servers);
    if (!unnecessary.isEmpty()) {
      throw new AssertionError("rights are documented that are not needed: " + unnecessary);
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
   * {@return the commands that servers have refused since rights were granted, or since their
   * start}
   */
  public static List<String> refusals(List<RedisServer> servers) throws IOException {
    List<String> refusals = new ArrayList<>();
    for (RedisServer server : servers) {
      if (server.call("ACL", "LOG") instanceof List<?> log) {
        for (Object entry : log) {
          // a wrong password is not a missing right
          if (entry instanceof List<?> fields && !fields.contains("auth")) {
            refusals.add(server.name() + " " + entry);
          }
        }
      }
    }
    return refusals;
  }
}
