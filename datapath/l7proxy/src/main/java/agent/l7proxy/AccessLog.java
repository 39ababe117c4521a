package agent.l7proxy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The file of requests. One thread writes it; where that is too slow, or the file cannot be
 * written, records are dropped and counted, and requests do not wait.
 */
final class AccessLog implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AccessLog.class);
  private static final int QUEUE_LENGTH = 8192;
  private static final int BUFFER_BYTES = 64 * 1024;
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long CLOSE_MS = 5_000;

  private final BlockingQueue<RequestRecord> queue = new ArrayBlockingQueue<>(QUEUE_LENGTH);
  private final LongAdder dropped = new LongAdder();
  private final Path file;
  private final RecordText records;
  private final Thread writer;
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
  private FileChannel channel;
  private int buffered;
  private boolean isFailing;
  private long failedNs;
  private volatile boolean isReopening;
  private volatile boolean isClosed;

  private AccessLog(Path file, IntFunction<List<String>> labels) {
    this.file = file;
    records = new RecordText(labels);
    writer = Thread.ofPlatform().name("l7-access-log").daemon().unstarted(this::run);
  }

  /**
   * Opens the file, which is appended to.
   *
   * @throws IOException where it cannot be opened
   */
  static AccessLog open(Path file, IntFunction<List<String>> labels) throws IOException {
    final AccessLog log = new AccessLog(file, labels);
    log.openFile();
    log.writer.start();
    return log;
  }

  /** Queues a record; any thread may call. */
  void write(RequestRecord request) {
    if (isClosed || !queue.offer(request)) {
      dropped.increment();
    }
  }

  /** Opens the file by its name again, after the next records at the latest. */
  void reopen() {
    isReopening = true;
  }

  /** Returns how many records are not in the file. */
  long dropped() {
    return dropped.sum();
  }

  private void openFile() throws IOException {
    channel =
        FileChannel.open(
            file,
            Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  private void run() {
    while (!isClosed || !queue.isEmpty()) {
      try {
        final RequestRecord request = queue.poll(100, TimeUnit.MILLISECONDS);
        if (isReopening) {
          isReopening = false;
          flush();
          closeFile();
        }
        if (request != null) {
          append(request);
        }
        if (queue.isEmpty()) {
          flush();
        }
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        dropped.increment();
        LOGGER.warn("access log {}: a request is not logged", file, e);
      }
    }
    closeFile();
  }

  private void append(RequestRecord request) {
    final byte[] line = records.line(request).toString().getBytes(StandardCharsets.US_ASCII);
    if (line.length > buffer.remaining()) {
      flush();
    }
    if (line.length > buffer.remaining()) {
      dropped.increment();
      return;
    }
    buffer.put(line);
    buffered++;
  }

  private void flush() {
    if (buffered == 0) {
      return;
    }
    buffer.flip();
    try {
      if (channel == null) {
        if (isFailing && System.nanoTime() - failedNs < RETRY_NS) {
          dropped.add(buffered);
          return;
        }
        openFile();
      }
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      isFailing = false;
    } catch (IOException e) {
      failed(e);
    } finally {
      buffer.clear();
      buffered = 0;
    }
  }

  private void failed(IOException failure) {
    dropped.add(buffered);
    if (!isFailing) {
      LOGGER.warn("access log {}: requests are not logged: {}", file, failure.toString());
    }
    isFailing = true;
    failedNs = System.nanoTime();
    closeFile();
  }

  private void closeFile() {
    if (channel == null) {
      return;
    }
    try {
      channel.close();
    } catch (IOException e) {
      LOGGER.warn("access log {}: close: {}", file, e.toString());
    }
    channel = null;
  }

  /** Writes what is queued and closes the file. */
  @Override
  public void close() {
    isClosed = true;
    try {
      writer.join(CLOSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
