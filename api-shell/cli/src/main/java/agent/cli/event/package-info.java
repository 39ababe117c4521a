/** Commands that follow live events of packets: monitor, observe and pcap. */
package agent.cli.event;
