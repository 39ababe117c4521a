package agent.maps.format;

import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import org.agrona.MutableDirectBuffer;

/** Formats the ipcache: its keys as {@code 10.0.0.0/8}, and its values. */
final class PrefixFormat implements MapFormat {
  private final boolean ipv6;

  PrefixFormat(boolean ipv6) {
    this.ipv6 = ipv6;
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    if (ipv6) {
      final Ipcache6KeyFlyweight prefix = new Ipcache6KeyFlyweight().wrap(key, keyOffset);
      FieldText.ipv6(out, prefix.addressHigh(), prefix.addressLow());
      out.append('/').append(prefix.prefixLength());
    } else {
      final Ipcache4KeyFlyweight prefix = new Ipcache4KeyFlyweight().wrap(key, keyOffset);
      FieldText.ipv4(out, prefix.address());
      out.append('/').append(prefix.prefixLength());
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final IpcacheEntryFlyweight entry = new IpcacheEntryFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("identity "), entry.identity());
    if (entry.endpointId() != 0) {
      out.append(" endpoint ").append(entry.endpointId());
    }
    if ((entry.flags() & IpcacheFlag.HOST.number()) != 0) {
      out.append(" host");
    }
  }
}
