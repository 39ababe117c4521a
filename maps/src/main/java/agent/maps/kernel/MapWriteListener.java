package agent.maps.kernel;

import org.agrona.DirectBuffer;

/** Hears of every write that goes through a {@link BpfMap}, on the writing thread. */
public interface MapWriteListener {
  /** Hears nothing. */
  MapWriteListener NONE =
      new MapWriteListener() {
        @Override
        public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {}

        @Override
        public void onDelete(BpfMap map, DirectBuffer key, int result) {}

        @Override
        public void onBulkWrite(BpfMap map) {}
      };

  /**
   * An entry was written, or should have been.
   *
   * @param result 0 or a negative errno
   */
  void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result);

  /**
   * An entry was deleted, or should have been.
   *
   * @param result 0 or a negative errno
   */
  void onDelete(BpfMap map, DirectBuffer key, int result);

  /** Many entries changed at once. */
  void onBulkWrite(BpfMap map);

  /** What was refused before is not wanted any more, unless it is written again. */
  default void onStartOver(BpfMap map) {}
}
