package agent.maps.format;

import agent.maps.layout.ServiceSlotFlyweight;
import agent.maps.layout.ServiceSlotKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats columns of alias tables as {@code service 7 slot 2} and {@code 10.1.0.7:80 at most
 * 4294967295 else 10.1.0.7:80}.
 */
final class ServiceSlotFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceSlotKeyFlyweight slot = new ServiceSlotKeyFlyweight().wrap(key, keyOffset);
    FieldText.unsigned(out.append("service "), slot.serviceId());
    FieldText.unsigned(out.append(" slot "), slot.slot());
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceSlotFlyweight slot = new ServiceSlotFlyweight().wrap(value, valueOffset);
    FieldText.end(out, slot.addressHigh(), slot.addressLow(), slot.port());
    FieldText.unsigned(out.append(" at most "), slot.threshold());
    FieldText.end(
        out.append(" else "), slot.otherAddressHigh(), slot.otherAddressLow(), slot.otherPort());
  }
}
