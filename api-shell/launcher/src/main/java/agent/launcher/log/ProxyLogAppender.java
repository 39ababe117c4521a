package agent.launcher.log;

import agent.l7proxy.LogFile;
import agent.types.IoFailure;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.Layout;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/**
 * Writes the messages of the proxies to a file of their own, without waiting for the disk. Messages
 * about single connections are detail that workloads cause: of those a number a second is written,
 * and the next one says how many are left out.
 */
final class ProxyLogAppender extends AbstractAppender {
  static final String NAME = "proxies";

  /** How many details are written at once, after a while without any. */
  static final int BURST = 1_000;

  private static final int DETAILS_PER_SECOND = 100;
  private static final long DETAIL_NS = TimeUnit.SECONDS.toNanos(1) / DETAILS_PER_SECOND;

  private final LogFile<String> file;

  /** The details that may be written now are those whose time has come since then. */
  private long spentNs = System.nanoTime() - BURST * DETAIL_NS;

  private long leftOut;

  private ProxyLogAppender(Layout<?> layout, LogFile<String> file) {
    super(NAME, null, layout, true, Property.EMPTY_ARRAY);
    this.file = file;
  }

  /**
   * Opens the file.
   *
   * @throws IllegalArgumentException naming the option where it cannot be opened
   */
  static ProxyLogAppender open(Path file, Layout<?> layout) {
    try {
      return new ProxyLogAppender(layout, LogFile.open("proxy log", file, line -> line));
    } catch (IOException e) {
      throw new IllegalArgumentException("proxy-engine-log: " + IoFailure.sentence(e), e);
    }
  }

  @Override
  public synchronized void append(LogEvent event) {
    if (event.getLevel().isLessSpecificThan(Level.DEBUG) && !admits(System.nanoTime())) {
      leftOut++;
      return;
    }
    final String line = String.valueOf(getLayout().toSerializable(event));
    if (leftOut > 0) {
      file.write(leftOut + " messages about connections suppressed\n" + line);
    } else {
      file.write(line);
    }
    leftOut = 0;
  }

  private boolean admits(long nowNs) {
    spentNs = Math.max(spentNs, nowNs - BURST * DETAIL_NS);
    if (nowNs - spentNs < DETAIL_NS) {
      return false;
    }
    spentNs += DETAIL_NS;
    return true;
  }

  /** Opens the file by its name again. */
  void reopen() {
    file.reopen();
  }

  @Override
  public void stop() {
    super.stop();
    file.close();
  }
}
