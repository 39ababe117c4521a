package agent.l7proxy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.IntFunction;

/** The access log of requests that another process has passed on. */
public final class AccessLog implements RequestListener, AutoCloseable {
  private final LogFile<RequestRecord> log;

  private AccessLog(LogFile<RequestRecord> log) {
    this.log = log;
  }

  /**
   * Opens the log.
   *
   * @param labels returns the labels of an identity; one thread asks it
   * @throws IOException where it cannot be opened
   */
  public static AccessLog open(Path file, IntFunction<List<String>> labels) throws IOException {
    return new AccessLog(RecordText.open(file, labels));
  }

  @Override
  public void onRequest(RequestRecord request) {
    log.write(request);
  }

  /** Opens the file by its name again, such as after a rotation. */
  public void reopen() {
    log.reopen();
  }

  /** Returns how many requests are not in the log, because it could not be written. */
  public long dropped() {
    return log.dropped();
  }

  @Override
  public void close() {
    log.close();
  }
}
