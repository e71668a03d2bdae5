"""What trees and runs look like in a notebook and on paper."""
