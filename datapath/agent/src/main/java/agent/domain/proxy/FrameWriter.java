package agent.domain.proxy;

import agent.bindings.process.PipeWriter;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends frames: the length of type and body, the type, the body. They are written in the order of
 * the calls, none of which waits: by a thread of its own, or, where no other waits and there is
 * room, those that packets wait for by the caller. Events beyond a bound are dropped and counted.
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

  /** The same stream for frames that are written at once; null: none is. */
  private final PipeWriter prompt;

  private final Runnable failed;

  /** Held by the thread that writes. */
  private final ReentrantLock writing = new ReentrantLock();

  /** Frames in the queue and in the buffer of the stream. */
  private final AtomicInteger waiting = new AtomicInteger();

  private final Thread thread;
  private volatile boolean isOver;

  /** Writes a body; called once, on the thread that writes, which may be the caller's. */
  @FunctionalInterface
  interface Body {
    void write(DataOutput out) throws IOException;
  }

  private record Frame(FrameType type, Body body, boolean isEvent) {}

  /**
   * Starts the thread.
   *
   * @param prompt the same stream; null: the thread alone writes
   * @param failed called where frames cannot be written any more
   */
  FrameWriter(OutputStream to, PipeWriter prompt, Runnable failed) {
    out = new DataOutputStream(new BufferedOutputStream(to, BUFFER_BYTES));
    this.prompt = prompt;
    this.failed = failed;
    thread = Thread.ofPlatform().daemon().name("proxy-frames-out").start(this::run);
  }

  /** Sends a frame that is never dropped; any thread may call. */
  void send(FrameType type, Body body) {
    if (isOver || prompt != null && type.isPrompt() && isWrittenAtOnce(type, body)) {
      return;
    }
    add(new Frame(type, body, false));
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
      add(new Frame(type, body, true));
      return;
    }
    events.decrementAndGet(type.ordinal());
    if (type == FrameType.REQUEST) {
      droppedRequests.increment();
    }
  }

  private void add(Frame frame) {
    waiting.incrementAndGet();
    queue.add(frame);
  }

  /** Returns how many events of requests were dropped. */
  long droppedRequests() {
    return droppedRequests.sum();
  }

  /** Writes a frame where no other is before it, and the pipe has room for it. */
  private boolean isWrittenAtOnce(FrameType type, Body body) {
    if (waiting.get() != 0 || !writing.tryLock()) {
      return false;
    }
    try {
      if (isOver || waiting.get() != 0) {
        return false;
      }
      final ByteArrayOutputStream encoded = new ByteArrayOutputStream();
      body.write(new DataOutputStream(encoded));
      final ByteArrayOutputStream frame = new ByteArrayOutputStream();
      write(new DataOutputStream(frame), type, encoded);
      return frame.size() <= PipeWriter.LONGEST && prompt.write(frame.toByteArray());
    } catch (IOException | RuntimeException e) {
      isOver = true;
      failed.run(); // a frame that is left out would be missed
      return true;
    } finally {
      writing.unlock();
    }
  }

  private void run() {
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    final DataOutputStream encoder = new DataOutputStream(body);
    try (out) {
      int written = 0;
      for (Frame frame = queue.take(); frame != END; frame = queue.take()) {
        if (frame.isEvent()) {
          events.decrementAndGet(frame.type().ordinal());
        }
        body.reset();
        frame.body().write(encoder);
        writing.lock();
        try {
          write(out, frame.type(), body);
          written++;
          if (queue.isEmpty()) {
            out.flush();
            waiting.addAndGet(-written);
            written = 0;
          }
        } finally {
          writing.unlock();
        }
      }
    } catch (IOException | RuntimeException e) {
      isOver = true;
      failed.run(); // a frame that is left out would be missed
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    end();
  }

  private static void write(DataOutputStream to, FrameType type, ByteArrayOutputStream body)
      throws IOException {
    to.writeInt(1 + body.size());
    to.writeByte(type.ordinal());
    body.writeTo(to);
  }

  private void end() {
    writing.lock();
    try {
      isOver = true;
      queue.clear();
      if (prompt != null) {
        prompt.close();
      }
    } finally {
      writing.unlock();
    }
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
