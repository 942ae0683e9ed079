package podrunner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// names assigns the addresses of a loopback range and serves their names by DNS.
type names struct {
	// subnet is the third byte of the addresses of this process: 127.77.<subnet>.0/24. With IPv6, it is the last byte of the
	// prefix fd77:e7cd:0:<subnet>::/64.
	subnet byte
	ipv6   bool
	server net.PacketConn
	done   chan struct{}

	mu   sync.Mutex
	last byte
	// hosts maps names, without the last dot, to addresses. taken are the addresses in use.
	hosts map[string]netip.Addr
	taken map[netip.Addr]bool
}

// served has the names of all runners of this process.
var served struct {
	sync.Mutex
	all []*names
}

// Resolver resolves the names of all Pods of this process, so that an operator in it can reach a member by its URL. The namespaces
// of two runners differ, and so do their names.
func Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		served.Lock()
		defer served.Unlock()
		if len(served.all) == 0 {
			return nil, errors.New("no runner serves the names of Pods")
		}
		return (&net.Dialer{}).DialContext(ctx, "udp4", served.all[0].server.LocalAddr().String())
	}}
}

// find returns the address of a host of any runner.
func (n *names) find(host string) (netip.Addr, bool) {
	served.Lock()
	defer served.Unlock()
	for _, other := range append([]*names{n}, served.all...) {
		other.mu.Lock()
		address, known := other.hosts[host]
		other.mu.Unlock()
		if known {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// dnsHost is the last byte of the DNS server's address. The addresses of Pods start at firstHost.
const dnsHost, firstHost = 1, 10

// newNames uses the first range that no other process uses. The DNS server always has an IPv4 address.
func newNames(ipv6 bool) (*names, error) {
	sockets, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, fmt.Errorf("list the sockets of this machine: %w", err)
	}
	var last error
	for subnet := range 250 {
		if hasSocket(sockets, byte(subnet)) {
			continue
		}
		server, err := net.ListenPacket("udp4", fmt.Sprintf("127.77.%d.%d:53", subnet, dnsHost))
		if err != nil {
			last = err
			continue
		}
		n := &names{
			subnet: byte(subnet), ipv6: ipv6, server: server, done: make(chan struct{}), last: firstHost,
			hosts: map[string]netip.Addr{}, taken: map[netip.Addr]bool{},
		}
		go n.serve()
		served.Lock()
		served.all = append(served.all, n)
		served.Unlock()
		return n, nil
	}
	return nil, fmt.Errorf("find a free range of loopback addresses: %w", last)
}

// hasSocket returns whether a process has a socket in a range: if a test run is killed, its members may outlive it, and those of a
// later run could not listen. sockets is in the format of /proc/net/tcp, which has the bytes of an address in reverse order.
func hasSocket(sockets []byte, subnet byte) bool {
	return bytes.Contains(sockets, fmt.Appendf(nil, "%02X4D7F:", subnet))
}

func (n *names) close() {
	served.Lock()
	served.all = slices.DeleteFunc(served.all, func(other *names) bool { return other == n })
	served.Unlock()
	_ = n.server.Close()
	<-n.done
	for address := range n.taken {
		_ = n.assign("del", address)
	}
}

// assign adds an IPv6 address to the loopback interface, or deletes it. IPv4 needs this not, because all of 127.0.0.0/8 is
// local.
func (n *names) assign(verb string, address netip.Addr) error {
	if !address.Is6() {
		return nil
	}
	if output, err := exec.Command("ip", "-6", "address", verb, address.String()+"/128", "dev", "lo", "nodad").CombinedOutput(); err != nil {
		return fmt.Errorf("ip address %s %s: %w: %s", verb, address, err, output)
	}
	return nil
}

// address returns an address of the range.
func (n *names) address(host byte) netip.Addr {
	if n.ipv6 {
		return netip.AddrFrom16([16]byte{0xfd, 0x77, 0xe7, 0xcd, 7: n.subnet, 15: host})
	}
	return netip.AddrFrom4([4]byte{127, 77, n.subnet, host})
}

// resolvConf is the content of /etc/resolv.conf.
func (n *names) resolvConf() string {
	return fmt.Sprintf("nameserver 127.77.%d.%d\noptions timeout:1 attempts:3\n", n.subnet, dnsHost)
}

// etcHosts is the content of /etc/hosts. A connection between two Pods comes from 127.0.0.1 or, with IPv6, from any address
// of the range. etcd accepts it if that address has a name in the certificate of its peer.
func (n *names) etcHosts(peer string) string {
	hosts := "127.0.0.1 localhost " + peer + "\n"
	for host := firstHost; n.ipv6 && host < 256; host++ {
		hosts += n.address(byte(host)).String() + " " + peer + "\n"
	}
	return hosts
}

// add assigns the least recently used free address to a host.
func (n *names) add(host string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range 256 - firstHost {
		n.last++
		if n.last < firstHost {
			n.last = firstHost
		}
		address := n.address(n.last)
		if n.last != 255 && !n.taken[address] {
			n.taken[address], n.hosts[host] = true, address
			return address, n.assign("replace", address)
		}
	}
	return netip.Addr{}, fmt.Errorf("no address is free for %s", host)
}

// remove frees an address. It keeps the name if a new Pod has it already.
func (n *names) remove(host string, address netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.assign("del", address)
	delete(n.taken, address)
	if n.hosts[host] == address {
		delete(n.hosts, host)
	}
}

func (n *names) serve() {
	defer close(n.done)
	buffer := make([]byte, 1500)
	for {
		length, from, err := n.server.ReadFrom(buffer)
		if err != nil {
			return
		}
		if answer, err := n.answer(buffer[:length]); err == nil {
			_, _ = n.server.WriteTo(answer, from)
		}
	}
}

func (n *names) answer(query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	host := strings.ToLower(strings.TrimSuffix(question.Name.String(), "."))
	address, known := n.find(host)
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{question},
	}
	switch {
	case !known:
		message.RCode = dnsmessage.RCodeNameError
	case n.ipv6 && question.Type == dnsmessage.TypeAAAA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeAAAA, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AAAAResource{AAAA: address.As16()},
		}}
	case !n.ipv6 && question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: address.As4()},
		}}
	}
	return message.Pack()
}
