package agent.maps.kernel;

import org.agrona.DirectBuffer;

/** Is notified of every write through a {@link BpfMap}, on the writing thread. */
public interface MapWriteListener {
  /** A listener that does nothing. */
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
   * Handles the update of an entry, successful or not.
   *
   * @param result 0 or a negative errno
   */
  void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result);

  /**
   * Handles the deletion of an entry, successful or not.
   *
   * @param result 0 or a negative errno
   */
  void onDelete(BpfMap map, DirectBuffer key, int result);

  /** Handles a batch that changed many entries. */
  void onBulkWrite(BpfMap map);
}
