package dev.interlock.tck.fault;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;

/** One direction of a {@link Link}: bytes read from one socket, to be written to the other. */
final class Pipe {
  /** Above this limit the source is not read, so that its sender meets a full TCP window. */
  private static final int MAX_QUEUED_BYTES = 8 << 20;

  private final Faults faults;
  private final Link link;
  private final Direction direction;
  private final SocketChannel source;
  private final SocketChannel sink;
  private final Deque<Segment> queue = new ArrayDeque<>();
  private long queued;
  private boolean sourceEnded;
  private boolean sinkGone;
  private boolean sinkFull;
  private boolean finished;
  private boolean lossy;

  Pipe(Faults faults, Link link, Direction direction, SocketChannel source, SocketChannel sink) {
    this.faults = faults;
    this.link = link;
    this.direction = direction;
    this.source = source;
    this.sink = sink;
  }

  /** Queued bytes, the end of the stream, or a cut of the connection. */
  private static final class Segment {
    enum Kind {
      BYTES,
      END,
      CUT
    }

    private final Kind kind;
    private final ByteBuffer bytes;
    private long due;

    Segment(Kind kind, ByteBuffer bytes, long due) {
      this.kind = kind;
      this.bytes = bytes;
      this.due = due;
    }
  }

  boolean wantsToRead() {
    return !sourceEnded && queued < MAX_QUEUED_BYTES;
  }

  /** {@return whether the sink did not accept bytes that are due} */
  boolean wantsToWrite() {
    return sinkFull;
  }

  /** {@return whether the end of the stream was passed to the other side} */
  boolean finished() {
    return finished;
  }

  /** {@return whether bytes, or the end of the stream, were dropped} */
  boolean lossy() {
    return lossy;
  }

  /** {@return the time until the next segment is due; {@code Long.MAX_VALUE} if there is none} */
  long dueIn(long now) {
    Segment head = queue.peek();
    if (head == null || sinkFull || faults.holds(link, direction)) {
      return Long.MAX_VALUE;
    }
    return Math.max(0, head.due - now);
  }

  /** Limits the delay of queued segments to that of the faults that are still active. */
  void deliverWithoutDelay(long now) {
    long latest = now + faults.delayNanos(direction);
    queue.forEach(segment -> segment.due = Math.min(segment.due, latest));
  }

  /** Reads from the source. Throws if the source was reset. */
  void fill(ByteBuffer scratch, long now) throws IOException {
    scratch.clear();
    int read = source.read(scratch);
    if (read == 0) {
      return;
    }
    if (read < 0) {
      sourceEnded = true;
      if (faults.hidesEnd(link, direction)) {
        lossy = true;
      } else {
        queue.add(new Segment(Segment.Kind.END, ByteBuffer.allocate(0), now + delay()));
      }
      return;
    }
    scratch.flip();
    faults.countReceived(direction, read);
    Behaviour.Fate fate = faults.fateOf(link, direction, scratch);
    if (sinkGone) {
      return;
    }
    switch (fate.kind()) {
      case FORWARD -> enqueue(scratch, now);
      case SWALLOW -> lossy = true;
      case CUT -> {
        scratch.limit(fate.bytes());
        enqueue(scratch, now);
        sourceEnded = true;
        lossy = true;
        queue.add(new Segment(Segment.Kind.CUT, ByteBuffer.allocate(0), now + delay()));
      }
    }
  }

  private void enqueue(ByteBuffer bytes, long now) {
    if (bytes.hasRemaining()) {
      ByteBuffer copy = ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
      queued += copy.remaining();
      queue.add(new Segment(Segment.Kind.BYTES, copy, now + delay()));
    }
  }

  private long delay() {
    return faults.delayNanos(direction);
  }

  /** Writes the segments that are due until the sink is full. Throws if the sink was reset. */
  void flush(long now) throws IOException {
    sinkFull = false;
    while (dueIn(now) == 0) {
      Segment head = queue.element();
      switch (head.kind) {
        case BYTES -> {
          int written = sink.write(head.bytes);
          queued -= written;
          faults.countForwarded(direction, written);
          if (head.bytes.hasRemaining()) {
            sinkFull = true;
            return;
          }
        }
        case END -> {
          sink.shutdownOutput();
          finished = true;
        }
        case CUT -> {
          queue.clear();
          link.close();
          return;
        }
      }
      queue.remove();
    }
  }

  /** {@return whether received bytes have not been forwarded yet} */
  boolean holdsBytes() {
    return queued > 0;
  }

  /** Cuts the connection after the queued bytes, since the source was reset. */
  void cutAfterQueuedBytes() {
    sourceEnded = true;
    queue.add(new Segment(Segment.Kind.CUT, ByteBuffer.allocate(0), queue.getLast().due));
  }

  /** Stops forwarding, since the sink is closed. */
  void dropSink() {
    sinkGone = true;
    sinkFull = false;
    queue.clear();
    queued = 0;
  }

  /** Stops reading, since the source is closed; the other side must not notice. */
  void dropSourceSilently() {
    sourceEnded = true;
    lossy = true;
  }

  /** Drops all bytes from now on, since the sink is closed; the source must not notice. */
  void dropSinkSilently() {
    dropSink();
    lossy = true;
  }
}
