/** Tests the object programs packet by packet with BPF_PROG_TEST_RUN, without interfaces. */
package agent.datapath.programs.scenario;
