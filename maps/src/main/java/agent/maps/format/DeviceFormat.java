package agent.maps.format;

import agent.maps.layout.DeviceEntryFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats devices as {@code interface 2} and {@code guarded 1 ipv4 192.0.2.1 ipv6 2001:db8::1}. */
final class DeviceFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("interface "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final DeviceEntryFlyweight device = new DeviceEntryFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("guarded "), device.state());
    if (device.ipv4() != 0) {
      FieldText.ipv4(out.append(" ipv4 "), device.ipv4());
    }
    if ((device.ipv6High() | device.ipv6Low()) != 0) {
      FieldText.ipv6(out.append(" ipv6 "), device.ipv6High(), device.ipv6Low());
    }
  }
}
