package agent.datapath.spec;

import java.io.IOException;
import java.util.random.RandomGenerator;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Chooses the consecutive ports of a proxy. Bases are tried at random, so that two agents of one
 * machine, or a restart beside sockets that are still closing, do not meet at one port.
 */
public final class ProxyPorts {
  /** The first port of the range that proxies listen in. */
  public static final int FIRST = 10_000;

  /** The last port of the range that proxies listen in. */
  public static final int LAST = 20_000;

  private static final Logger LOGGER = LogManager.getLogger(ProxyPorts.class);
  private static final int MOST_ATTEMPTS = 200;

  private ProxyPorts() {}

  /**
   * Opens the sockets of one base.
   *
   * @param <T> what is open then
   */
  @FunctionalInterface
  public interface Opener<T> {
    /**
     * Opens all sockets, or none.
     *
     * @param firstPort the first of {@link RedirectProxy#PORTS} ports
     * @throws IOException where one of them cannot be bound; what was opened is closed again
     */
    T open(int firstPort) throws IOException;
  }

  /**
   * Opens the ports of the former run of a proxy, or others where there was none or they cannot be
   * opened.
   *
   * @param previous {@link RedirectProxy#previousPort}
   * @throws IOException where no ports can be opened
   */
  public static <T> T open(int previous, RandomGenerator random, Opener<T> opener)
      throws IOException {
    if (previous != 0) {
      try {
        return opener.open(previous);
      } catch (IOException e) {
        LOGGER.info("a proxy uses other ports than before: {}", e.getMessage());
      }
    }
    return open(FIRST, LAST, random, opener);
  }

  /**
   * Tries bases until one can be opened.
   *
   * @param first the first port that may be used
   * @param last the last port that may be used
   * @throws IOException where none of 200 bases can be opened, with the failure of the last one
   */
  static <T> T open(int first, int last, RandomGenerator random, Opener<T> opener)
      throws IOException {
    final int bases = last - first - RedirectProxy.PORTS + 2;
    if (first < 1 || last > 0xffff || bases < 1) {
      throw new IllegalArgumentException("proxy ports %d to %d".formatted(first, last));
    }
    IOException failure = null;
    for (int i = 0; i < MOST_ATTEMPTS; i++) {
      try {
        return opener.open(first + random.nextInt(bases));
      } catch (IOException e) {
        failure = e;
      }
    }
    throw new IOException(
        "no %d consecutive ports from %d to %d can be bound: %s"
            .formatted(RedirectProxy.PORTS, first, last, failure.getMessage()),
        failure);
  }
}
