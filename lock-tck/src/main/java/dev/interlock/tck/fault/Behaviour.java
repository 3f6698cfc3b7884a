package dev.interlock.tck.fault;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What a fault does to the traffic. Only the proxy's thread calls it, so an implementation may keep
 * state without locks.
 */
interface Behaviour {
  /** The fate of one chunk, or of the end of a stream. The later constant wins over the earlier. */
  enum Fate {
    FORWARD,
    SWALLOW,
    /** The first {@link #bytesBeforeCut()} bytes are forwarded, then the connection is closed. */
    CUT
  }

  /** Decides on a chunk that {@code link} received. Must not change the buffer. */
  default Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
    return Fate.FORWARD;
  }

  /** {@return whether the end of a stream, or its reset, is hidden from the other side} */
  default boolean hidesEnd(Link link, Direction direction) {
    return false;
  }

  /** {@return how many bytes of a chunk with the fate {@link Fate#CUT} are still forwarded} */
  default int bytesBeforeCut() {
    return 0;
  }

  /** {@return the delay of a chunk in this direction} */
  default long delayNanos(Direction direction) {
    return 0;
  }

  /** {@return whether nothing leaves the proxy in this direction} */
  default boolean holds(Link link, Direction direction) {
    return false;
  }

  /** {@return whether the proxy refuses connections} */
  default boolean refuses() {
    return false;
  }

  /** {@return where new connections lead instead of to the server; null for the server} */
  default @Nullable InetSocketAddress destination() {
    return null;
  }

  /** {@return whether the fault has struck for the last time} */
  default boolean spent() {
    return false;
  }

  /** Refuses connections. */
  record Refuse() implements Behaviour {
    @Override
    public boolean refuses() {
      return true;
    }
  }

  /** Redirects connections. */
  record Lead(InetSocketAddress elsewhere) implements Behaviour {
    @Override
    public InetSocketAddress destination() {
      return elsewhere;
    }
  }

  /** Drops some directions. */
  record BlackHole(Set<Direction> swallowed) implements Behaviour {
    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      return swallowed.contains(direction) ? Fate.SWALLOW : Fate.FORWARD;
    }

    @Override
    public boolean hidesEnd(Link link, Direction direction) {
      return swallowed.contains(direction);
    }
  }

  /** Holds the bytes of one direction until the fault ends. */
  record Hold(Direction held) implements Behaviour {
    @Override
    public boolean holds(Link link, Direction direction) {
      return direction == held;
    }
  }

  /** Applies another behaviour to some connections only. */
  record Among(Set<Link> links, Behaviour fault) implements Behaviour {
    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      return links.contains(link) ? fault.onChunk(link, direction, chunk) : Fate.FORWARD;
    }

    @Override
    public boolean hidesEnd(Link link, Direction direction) {
      return links.contains(link) && fault.hidesEnd(link, direction);
    }

    @Override
    public boolean holds(Link link, Direction direction) {
      return links.contains(link) && fault.holds(link, direction);
    }
  }

  /** Delays one direction. */
  record Delay(Direction delayed, long nanos) implements Behaviour {
    @Override
    public long delayNanos(Direction direction) {
      return direction == delayed ? nanos : 0;
    }
  }

  /** Lets a number of bytes pass, then cuts the connection that carries the next one. Once. */
  final class DropAfter implements Behaviour {
    private final Direction counted;
    private long left;
    private int pass;
    private boolean done;

    DropAfter(Direction counted, long bytes) {
      this.counted = counted;
      this.left = bytes;
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (done || direction != counted) {
        return Fate.FORWARD;
      }
      if (chunk.remaining() <= left) {
        left -= chunk.remaining();
        return Fate.FORWARD;
      }
      pass = (int) left;
      done = true;
      return Fate.CUT;
    }

    @Override
    public int bytesBeforeCut() {
      return pass;
    }

    @Override
    public boolean spent() {
      return done;
    }
  }

  /** Cuts every connection that carries a request, and does not forward the request. */
  record HangUp() implements Behaviour {
    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      return direction == Direction.CLIENT_TO_SERVER ? Fate.CUT : Fate.FORWARD;
    }
  }

  /** Cuts the connection that carries one answer, instead of that answer. Once. */
  final class LoseAnswer implements Behaviour {
    private final Set<Link> asked = Collections.newSetFromMap(new WeakHashMap<>());
    private int earlier;
    private boolean done;

    LoseAnswer(int earlier) {
      this.earlier = earlier;
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (direction == Direction.CLIENT_TO_SERVER) {
        asked.add(link);
        return Fate.FORWARD;
      }
      if (done || !asked.remove(link) || earlier-- > 0) {
        return Fate.FORWARD;
      }
      done = true;
      return Fate.CUT;
    }

    @Override
    public boolean spent() {
      return done;
    }
  }

  /** Drops every reply on a connection once it has carried a request with a pattern. */
  final class LoseReplies implements Behaviour {
    private final byte[] pattern;
    private final Map<Link, Match> matches = new WeakHashMap<>();

    LoseReplies(byte[] pattern) {
      this.pattern = pattern.clone();
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      Match match = matches.computeIfAbsent(link, key -> new Match(pattern));
      if (direction == Direction.CLIENT_TO_SERVER) {
        match.feed(chunk);
        return Fate.FORWARD;
      }
      return match.found() ? Fate.SWALLOW : Fate.FORWARD;
    }

    @Override
    public boolean hidesEnd(Link link, Direction direction) {
      Match match = matches.get(link);
      return direction == Direction.SERVER_TO_CLIENT && match != null && match.found();
    }
  }

  /** The search for a byte pattern in a stream that comes in chunks. */
  final class Match {
    private final String pattern;
    private String tail = "";
    private boolean found;

    Match(byte[] pattern) {
      this.pattern = new String(pattern, ISO_8859_1); // a character for each byte
    }

    boolean found() {
      return found;
    }

    void feed(ByteBuffer chunk) {
      String text = tail + ISO_8859_1.decode(chunk.duplicate());
      found |= text.contains(pattern);
      tail = text.substring(Math.max(0, text.length() - pattern.length() + 1));
    }
  }
}
