package dev.interlock.zookeeper;

import dev.interlock.spi.Claim;
import dev.interlock.spi.NameEncoding;
import java.util.Optional;

/**
 * The paths of locks: each lock has a node directly below the namespace's node, so locks never
 * nest.
 *
 * <p>Letters and digits of the basic plane and printable ASCII stay as they are, so that people can
 * read the names. Everything else is percent-encoded, including the slash, the escape character
 * itself, and all that the servers refuse: control characters, surrogates, private-use characters,
 * and the names {@code .} and {@code ..}.
 */
final class LockPaths {

  private static final NameEncoding NAMES = NameEncoding.ofLettersAndDigits(" /");

  /** The encoding of a dot at the beginning, which could make the whole a relative path. */
  private static final String FIRST_DOT = "%2E";

  private LockPaths() {}

  static String of(String namespacePath, String name) {
    return namespacePath + "/" + node(name);
  }

  /** The beginning of the path of a claim's node, to which the servers append a number. */
  static String nodePrefix(String namespacePath, Claim claim) {
    return of(namespacePath, claim.name()) + "/" + NodeName.prefix(claim);
  }

  /** The name of a lock's node. */
  static String node(String name) {
    String encoded = NAMES.encode(name);
    return encoded.startsWith(".") ? FIRST_DOT + encoded.substring(1) : encoded;
  }

  /** The name of the lock that has this node; empty if no lock can have it. */
  static Optional<String> nameOf(String node) {
    String encoded = node.startsWith(FIRST_DOT) ? "." + node.substring(FIRST_DOT.length()) : node;
    return Optional.ofNullable(NAMES.decode(encoded)).filter(name -> node(name).equals(node));
  }
}
