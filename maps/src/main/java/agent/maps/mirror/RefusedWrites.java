package agent.maps.mirror;

import agent.bindings.Errno;
import java.util.List;

/**
 * The writes of maps that the kernel has refused, as who makes them knows them, and will make them
 * again; for any thread.
 */
@FunctionalInterface
public interface RefusedWrites {
  /**
   * One refused write.
   *
   * @param value the value to be written, or null for a delete
   * @param errno positive error number
   */
  record Write(byte[] key, byte[] value, int errno) {
    /** Returns operation and error, such as {@code update: ENOSPC}. */
    public String error() {
      return (value == null ? "delete: " : "update: ") + Errno.name(errno);
    }
  }

  /** Returns those of one map, the oldest first. */
  List<Write> of(String map);
}
