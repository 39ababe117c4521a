package agent.domain.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The other side of a {@link ProxyChild}, in this process: a test sees and writes its frames. */
final class FakeProxyProcess extends Process {
  static final int KILLED = 137;
  private static final int LONGEST_FRAME = 1 << 20;
  private static final long LONGEST_SEC = 10;

  private final Pipe input = pipe();
  private final Pipe output = pipe();
  private final FrameWriter frames =
      new FrameWriter(Channels.newOutputStream(output.sink()), null, () -> {});
  private final BlockingQueue<Frame> received = new LinkedBlockingQueue<>();
  private final CompletableFuture<Integer> exit = new CompletableFuture<>();
  private final boolean staysAtTheEnd;

  /** A frame of the agent. */
  record Frame(FrameType type, DataInputStream body) {}

  /** Starts it; it ends with status 0 when its standard input ends. */
  FakeProxyProcess() {
    this(false);
  }

  FakeProxyProcess(boolean staysAtTheEnd) {
    this.staysAtTheEnd = staysAtTheEnd;
    Thread.ofPlatform().daemon().name("fake-process").start(this::read);
  }

  private static Pipe pipe() {
    try {
      return Pipe.open();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void read() {
    try {
      new FrameReader(Channels.newInputStream(input.source()), LONGEST_FRAME)
          .run(
              (type, body) ->
                  received.add(
                      new Frame(
                          type,
                          new DataInputStream(new ByteArrayInputStream(body.readAllBytes())))));
    } catch (IOException e) {
      exit(1);
    }
    if (!staysAtTheEnd) {
      exit(0);
    }
  }

  /** Sends a frame to the agent. */
  void send(FrameType type, FrameWriter.Body body) {
    frames.send(type, body);
  }

  /** Returns the body of the next frame of the agent, which is of this type. */
  DataInputStream expect(FrameType type) throws InterruptedException {
    final Frame frame = next();
    assertNotNull(frame, "no " + type);
    assertEquals(type, frame.type());
    return frame.body();
  }

  /** Returns the next frame of the agent; null: there is none. */
  Frame next() throws InterruptedException {
    return received.poll(LONGEST_SEC, TimeUnit.SECONDS);
  }

  /** Returns how many frames of the agent have come and were not expected yet. */
  int more() {
    return received.size();
  }

  /** Ends; all that was sent is written before. */
  void exit(int status) {
    frames.close();
    exit.complete(status);
  }

  /** Returns the exit status. */
  int awaitExit() throws Exception {
    return exit.get(LONGEST_SEC, TimeUnit.SECONDS);
  }

  @Override
  public OutputStream getOutputStream() {
    return Channels.newOutputStream(input.sink());
  }

  @Override
  public InputStream getInputStream() {
    return Channels.newInputStream(output.source());
  }

  @Override
  public InputStream getErrorStream() {
    return InputStream.nullInputStream();
  }

  @Override
  public int waitFor() {
    return exit.join();
  }

  @Override
  public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
    try {
      exit.get(timeout, unit);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public int exitValue() {
    return exit.getNow(-1);
  }

  @Override
  public void destroy() {
    exit(KILLED);
  }

  @Override
  public Process destroyForcibly() {
    exit(KILLED);
    return this;
  }

  @Override
  public boolean isAlive() {
    return !exit.isDone();
  }

  @Override
  public long pid() {
    return ProcessHandle.current().pid();
  }
}
