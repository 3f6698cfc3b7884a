package dev.interlock.redis.server;

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol.Command;

/**
 * A Lua script that the server runs in one step. Its text is a {@code .lua} file beside the class
 * that declares it. The comments of the file describe keys, arguments and replies, and are not
 * sent. The line {@code --#include name} stands for the text of {@code parts/name.lua}.
 *
 * <p>Scripts compare the whole value that a claim writes: its id, a bar, and the holder's label.
 * The prefix {@code revoked|} marks a revoked lock. The prefix {@code awaited|} before all of it
 * marks a lock whose release a client waits for. Shares of a name that several claims hold are
 * stored in a sorted set, which {@code share_acquire.lua} describes.
 *
 * <p>The most frequent replies are single values: the token of an acquisition, the word {@code
 * released}. Every other reply is an array that begins with a word, so that no number can be
 * mistaken for another: {@code -PTTL} of a key without expiry is +1, and would look like a token.
 * Each script reads all it needs before it writes, so a script that fails changes nothing.
 *
 * <p>Numbers in Lua are doubles, which are exact below 2<sup>53</sup>. Redis passes them to
 * commands with 17 digits, but {@code tostring} rounds to 14.
 *
 * <p>The server runs one script at a time, so the duration of a script limits the throughput of all
 * clients. Each call creates the local functions of a script, and each array reply costs memory. So
 * files are included in the branch that needs them, and the most frequent replies are not arrays.
 */
public final class Script {

  private static final Pattern INCLUDE = Pattern.compile("\\s*--#include (\\w+)");

  /** Takes the lock if it is free, and draws its next token. */
  public static final Script ACQUIRE = ours(2, "acquire");

  /** Extends the TTL if the claim still has the lock. */
  public static final Script RENEW = ours(1, "renew");

  /** Releases the lock if the claim has it. */
  public static final Script RELEASE = ours(1, "release");

  /** Defers the release: keeps the lock for a time without the claim, if the claim has it. */
  public static final Script RELEASE_AFTER = ours(1, "release_after");

  /** Grants a share of a name if there is room, and draws the next token. */
  public static final Script SHARE_ACQUIRE = ours(2, "share_acquire");

  /** Extends one hold of a name. */
  public static final Script SHARE_RENEW = ours(1, "share_renew");

  /** Ends a hold if the claim has it. */
  public static final Script SHARE_RELEASE = ours(1, "share_release");

  /** Defers the release: keeps a hold for a time without the claim, if the claim has it. */
  public static final Script SHARE_RELEASE_AFTER = ours(1, "share_release_after");

  /** Releases the lock, whichever claims have it. */
  public static final Script FORCE_RELEASE = ours(1, "force_release");

  /** Prevents renewal, and keeps the lock for the rest of its TTL. */
  public static final Script REVOKE = ours(1, "revoke");

  /** Reads the holders of the lock. */
  public static final Script INSPECT = ours(2, "inspect");

  private final byte[] keyCount;
  private final byte[] source;
  private final byte[] digest;

  /**
   * Creates a script.
   *
   * @param keyCount the number of its keys; the lock first, then the fence
   * @param body Lua, in ASCII
   */
  public Script(int keyCount, String body) {
    this.keyCount = ascii(Integer.toString(keyCount));
    this.source = ascii(body);
    this.digest = ascii(sha1(source));
  }

  private static Script ours(int keyCount, String name) {
    return load(keyCount, name, file -> null);
  }

  /**
   * Reads a script from its file.
   *
   * @param keyCount the number of its keys; the lock first, then the fence
   * @param name the file's name without {@code .lua}
   * @param resources opens a file of the caller's module, or returns null to use the file beside
   *     this class
   * @return the script
   */
  public static Script load(
      int keyCount, String name, Function<String, @Nullable InputStream> resources) {
    return new Script(keyCount, read(name, resources));
  }

  private static String read(String name, Function<String, @Nullable InputStream> resources) {
    return text(name + ".lua", resources)
        .lines()
        .map(
            line -> {
              Matcher include = INCLUDE.matcher(line);
              return include.matches() ? read("parts/" + include.group(1), resources) : line + "\n";
            })
        .filter(line -> !line.stripLeading().startsWith("--"))
        .collect(Collectors.joining());
  }

  private static String text(String file, Function<String, @Nullable InputStream> resources) {
    InputStream found = resources.apply(file);
    try (InputStream in = found != null ? found : Script.class.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException(file + " is missing from the jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** {@return whether the script takes the fence as its second key} */
  public boolean needsFence() {
    return keyCount[0] >= '2';
  }

  /**
   * {@return the command that runs the script}
   *
   * @param withSource whether to send the source, for a server that does not know the script
   * @param keys its keys
   * @param arguments its arguments
   */
  public CommandArguments command(boolean withSource, List<byte[]> keys, List<byte[]> arguments) {
    CommandArguments command =
        withSource
            ? new CommandArguments(Command.EVAL).add(source)
            : new CommandArguments(Command.EVALSHA).add(digest);
    command.add(keyCount);
    keys.forEach(command::add);
    arguments.forEach(command::add);
    return command;
  }

  /** {@return the text of the script} */
  public byte[] source() {
    return source;
  }

  /** {@return the hexadecimal digits by which a server knows the script once it has seen it} */
  public byte[] digest() {
    return digest;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @SuppressWarnings("deprecation") // Redis identifies scripts by SHA-1.
  private static String sha1(byte[] source) {
    return Hashing.sha1().hashBytes(source).toString();
  }
}
