package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockKind;
import dev.interlock.spi.NameEncoding;
import dev.interlock.spi.Share;
import io.etcd.jetcd.ByteSequence;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one lock. The entries of its queue share a prefix.
 *
 * <p>In a name the slash, the escape character itself and invisible characters are percent-encoded.
 * So no lock's prefix begins another's, and people can read the keys.
 *
 * <p>An entry's key shows the share of its claim, because many reads fetch only keys. The key of an
 * exclusive lock's entry ends with the session and a number, such as {@code 694d9a1c-0}. For the
 * other kinds {@code write/}, {@code ~read/} or, for example, {@code 2-of-5/} precedes these.
 * Versions that know only exclusive locks treat all kinds as entries of the queue, and wait until
 * they are gone.
 */
final class LockKeys {

  private static final NameEncoding NAMES = NameEncoding.ofVisible("/");

  private static final String WRITER = "write/";

  /** Sorts behind the others, so that all entries for which a reader waits are in one range. */
  private static final String READER = "~read/";

  private static final Pattern PERMITS = Pattern.compile("(\\d+)-of-(\\d+)/.*");

  private final String prefix;

  private LockKeys(String prefix) {
    this.prefix = prefix;
  }

  static LockKeys of(String namespace, String name) {
    return new LockKeys(locks(namespace) + encoded(name) + '/');
  }

  /** The prefix of the keys of all locks whose names begin with the given prefix. */
  static ByteSequence allOf(String namespace, String namePrefix) {
    return bytes(locks(namespace) + encoded(namePrefix));
  }

  /** The name of the lock to which a key belongs, or null if it belongs to none. */
  static @Nullable String name(String namespace, ByteSequence key) {
    String text = key.toString(UTF_8);
    int start = locks(namespace).length();
    int end = text.indexOf('/', start);
    if (end <= start) {
      return null;
    }
    String name = NAMES.decode(text.substring(start, end));
    return name != null && key.startsWith(of(namespace, name).prefix()) ? name : null;
  }

  private static String locks(String namespace) {
    return namespace + "/lock/";
  }

  static String encoded(String name) {
    return NAMES.encode(name);
  }

  /** The prefix of all entries in the queue. */
  ByteSequence prefix() {
    return bytes(prefix);
  }

  /**
   * The keys of the entries for which a claim waits if they are ahead of it. For a reader the range
   * leaves out the other readers, who may be many.
   */
  KeyRange entriesInTheWayOf(Share share) {
    return share.equals(Share.READ)
        ? new KeyRange(prefix(), bytes(prefix + READER))
        : KeyRange.ofPrefix(prefix());
  }

  /** The key of an entry. The number distinguishes the simultaneous entries of a session. */
  ByteSequence entry(Share share, long session, int number) {
    return bytes(prefix + marked(share) + Long.toHexString(session) + "-" + number);
  }

  private static String marked(Share share) {
    return switch (share.kind()) {
      case EXCLUSIVE -> "";
      case READ_WRITE -> share.isWhole() ? WRITER : READER;
      case SEMAPHORE -> share.weight() + "-of-" + share.capacity() + "/";
    };
  }

  /**
   * The share of an entry's claim. An unknown kind counts as an exclusive lock, so others wait
   * until it is gone.
   */
  Share share(ByteSequence entry) {
    String text = entry.toString(UTF_8);
    String own = text.startsWith(prefix) ? text.substring(prefix.length()) : "";
    if (own.startsWith(READER)) {
      return Share.READ;
    }
    if (own.startsWith(WRITER)) {
      return Share.WRITE;
    }
    Matcher permits = PERMITS.matcher(own);
    if (permits.matches()) {
      try {
        return new Share(
            LockKind.SEMAPHORE,
            Integer.parseInt(permits.group(1)),
            Integer.parseInt(permits.group(2)));
      } catch (IllegalArgumentException e) {
        return Share.EXCLUSIVE;
      }
    }
    return Share.EXCLUSIVE;
  }

  /** The key that exists as long as a session does. */
  static ByteSequence session(String namespace, long session) {
    return bytes(namespace + "/session/" + Long.toHexString(session));
  }

  static ByteSequence bytes(String text) {
    return ByteSequence.from(text, UTF_8);
  }

  @Override
  public String toString() {
    return prefix;
  }
}
