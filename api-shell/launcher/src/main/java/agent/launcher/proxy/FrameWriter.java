package agent.launcher.proxy;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Sends frames: the length of type and body, the type, the body. One thread writes them in the
 * order of the calls, none of which waits. Events beyond a bound are dropped and counted.
 */
final class FrameWriter implements AutoCloseable {
  /** How many events wait at most. */
  static final int MOST_EVENTS = 8_192;

  /** A reader that is so far behind does not read any more. */
  private static final int MOST_FRAMES = 262_144;

  private static final int BUFFER_BYTES = 64 * 1024;
  private static final long CLOSE_MS = 1_000;
  private static final Frame END = new Frame(null, null, false);

  private final BlockingQueue<Frame> queue = new LinkedBlockingQueue<>();
  private final AtomicIntegerArray events = new AtomicIntegerArray(FrameType.values().length);
  private final LongAdder droppedRequests = new LongAdder();
  private final DataOutputStream out;
  private final Runnable failed;
  private final Thread thread;
  private volatile boolean isOver;

  /** Writes a body; called once, on the thread that writes. */
  @FunctionalInterface
  interface Body {
    void write(DataOutput out) throws IOException;
  }

  private record Frame(FrameType type, Body body, boolean isEvent) {}

  /**
   * Starts the thread.
   *
   * @param failed called where frames cannot be written any more
   */
  FrameWriter(OutputStream to, Runnable failed) {
    out = new DataOutputStream(new BufferedOutputStream(to, BUFFER_BYTES));
    this.failed = failed;
    thread = Thread.ofPlatform().daemon().name("proxy-frames-out").start(this::run);
  }

  /** Sends a frame that is never dropped; any thread may call. */
  void send(FrameType type, Body body) {
    if (isOver) {
      return;
    }
    queue.add(new Frame(type, body, false));
    if (queue.size() > MOST_FRAMES) {
      failed.run();
    }
  }

  /** Sends a frame unless too many of its type wait; any thread may call. */
  void event(FrameType type, Body body) {
    if (isOver) {
      return;
    }
    if (events.incrementAndGet(type.ordinal()) <= MOST_EVENTS) {
      queue.add(new Frame(type, body, true));
      return;
    }
    events.decrementAndGet(type.ordinal());
    if (type == FrameType.REQUEST) {
      droppedRequests.increment();
    }
  }

  /** Returns how many events of requests were dropped. */
  long droppedRequests() {
    return droppedRequests.sum();
  }

  private void run() {
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    final DataOutputStream encoder = new DataOutputStream(body);
    try (out) {
      for (Frame frame = queue.take(); frame != END; frame = queue.take()) {
        if (frame.isEvent()) {
          events.decrementAndGet(frame.type().ordinal());
        }
        body.reset();
        frame.body().write(encoder);
        out.writeInt(1 + body.size());
        out.writeByte(frame.type().ordinal());
        body.writeTo(out);
        if (queue.isEmpty()) {
          out.flush();
        }
      }
    } catch (IOException | RuntimeException e) {
      isOver = true;
      failed.run(); // a frame that is left out would be missed
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    isOver = true;
    queue.clear();
  }

  /** Writes what waits and closes the stream, in bounded time. */
  @Override
  public void close() {
    queue.add(END);
    try {
      thread.join(CLOSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
