package agent.maps.format;

import agent.maps.layout.BalancerFlowFlyweight;
import agent.maps.layout.BalancerFlowKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats flows of the load balancer as {@code 192.0.2.9:31337 203.0.113.1:80 TCP} and {@code
 * service 7 backend 10.1.0.7:80}, with {@code by stack} where the balancer leaves them to it, or
 * {@code relayed} where conntrack has them.
 */
final class BalancerFlowFormat implements MapFormat {
  private static final int RELAYED = 2; // BALANCER_RELAYED in lib/balanced_relay.h

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final BalancerFlowKeyFlyweight flow = new BalancerFlowKeyFlyweight().wrap(key, keyOffset);
    FieldText.end(out, flow.clientHigh(), flow.clientLow(), flow.clientPort());
    FieldText.end(out.append(' '), flow.frontendHigh(), flow.frontendLow(), flow.frontendPort());
    FieldText.protocol(out.append(' '), flow.protocol());
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final BalancerFlowFlyweight flow = new BalancerFlowFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("service "), flow.serviceId());
    FieldText.end(out.append(" backend "), flow.addressHigh(), flow.addressLow(), flow.port());
    if (flow.byStack() != 0) {
      out.append(flow.byStack() == RELAYED ? " relayed" : " by stack");
    }
  }
}
