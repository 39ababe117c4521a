package agent.datapath.manager;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Closes resources in the reverse order of their opening. A resource that cannot be closed is
 * logged, and the others are still closed. Thread-safe.
 */
final class Resources implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Resources.class);

  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  synchronized <T extends AutoCloseable> T add(T resource) {
    open.push(resource);
    return resource;
  }

  @Override
  public synchronized void close() {
    while (!open.isEmpty()) {
      try {
        open.pop().close();
      } catch (Exception failure) {
        LOGGER.error("a resource of the datapath cannot be closed", failure);
      }
    }
  }
}
