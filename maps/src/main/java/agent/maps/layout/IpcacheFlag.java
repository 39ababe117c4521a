package agent.maps.layout;

/** Flag bits of an ipcache entry. {@code enum ipcache_flag} in {@code maps/ipcache_map.h}. */
public enum IpcacheFlag implements Numbered {
  /** The address belongs to this node; packets to it are delivered to the stack. */
  HOST(1);

  public static final EnumSpec ENUM = EnumSpec.of("ipcache_flag", "IPCACHE_FLAG_", values());

  private final int number;

  IpcacheFlag(int number) {
    this.number = number;
  }

  @Override
  public int number() {
    return number;
  }
}
