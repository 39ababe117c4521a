package agent.maps.format;

import agent.maps.layout.ServiceEndFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats backends of tables as {@code service 7 version 513 backend 2} and {@code 10.1.0.7:80}.
 */
final class ServiceEndFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    ServiceTableFormat.appendPart(out, key, keyOffset, "backend");
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceEndFlyweight end = new ServiceEndFlyweight().wrap(value, valueOffset);
    FieldText.end(out, end.addressHigh(), end.addressLow(), end.port());
  }
}
