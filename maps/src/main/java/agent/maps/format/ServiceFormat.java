package agent.maps.format;

import agent.maps.layout.ServiceEntryFlyweight;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.ServiceKeyFlyweight;
import agent.maps.layout.ServiceScope;
import org.agrona.MutableDirectBuffer;

/**
 * Formats services as {@code 10.96.0.1:443 TCP}, or {@code 10.96.0.1:443 TCP from outside}, and
 * {@code service 7 slots 3 affinity 0s}, and {@code dsr} or {@code snat} where it says so.
 */
final class ServiceFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceKeyFlyweight frontend = new ServiceKeyFlyweight().wrap(key, keyOffset);
    FieldText.end(out, frontend.addressHigh(), frontend.addressLow(), frontend.port());
    FieldText.protocol(out.append(' '), frontend.protocol());
    if (frontend.scope() == ServiceScope.OUTSIDE.number()) {
      out.append(" from outside");
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceEntryFlyweight entry = new ServiceEntryFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("service "), entry.serviceId());
    FieldText.unsigned(out.append(" slots "), entry.slots());
    FieldText.unsigned(out.append(" affinity "), entry.affinityS());
    out.append('s');
    for (final ServiceForwarding forwarding : ServiceForwarding.values()) {
      if (forwarding != ServiceForwarding.DEFAULT && forwarding.number() == entry.forwarding()) {
        FieldText.constant(out.append(' '), forwarding.name());
      }
    }
  }
}
